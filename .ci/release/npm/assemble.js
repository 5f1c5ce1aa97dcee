#!/usr/bin/env node
// Makes npm packages of what goreleaser has built: assemble.js DIST OUT writes a folder for
// each platform, with its binary alone, and OUT/mcpconform, which depends on all of them.
// npm installs the one that is for the platform.
"use strict";
const fs = require("node:fs");
const path = require("node:path");

const [dist, out] = process.argv.slice(2);
const read = (name) => JSON.parse(fs.readFileSync(path.join(dist, name), "utf8"));
const { version } = read("metadata.json");
const root = path.join(__dirname, "../../..");

// as Node.js names what Go calls otherwise
const platforms = { windows: "win32" };
const architectures = { amd64: "x64" };

const common = {
  version,
  license: "Apache-2.0",
  repository: { type: "git", url: "git+https://github.com/mcpconform/mcpconform.git" },
};

function write(folder, manifest, files) {
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest, null, 2) + "\n");
  for (const [file, source] of Object.entries({ ...files, LICENSE: path.join(root, "LICENSE") })) {
    fs.copyFileSync(source, path.join(folder, file));
  }
}

const optionalDependencies = {};
for (const { type, goos, goarch, path: binary } of read("artifacts.json")) {
  if (type !== "Binary") continue;
  const os = platforms[goos] ?? goos;
  const cpu = architectures[goarch] ?? goarch;
  const name = `@mcpconform/${os}-${cpu}`;
  const file = path.basename(binary);
  optionalDependencies[name] = version;
  write(path.join(out, `${os}-${cpu}`), {
    name,
    ...common,
    description: `The mcpconform of ${os} on ${cpu}`,
    os: [os],
    cpu: [cpu],
    preferUnplugged: true, // it has to be a file to be run
  }, { [file]: path.resolve(root, binary) });
  fs.chmodSync(path.join(out, `${os}-${cpu}`, file), 0o755);
}

write(path.join(out, "mcpconform"), {
  name: "mcpconform",
  ...common,
  description: "Check whether an MCP server or client keeps the specification, and say where exactly it does not",
  keywords: ["mcp", "model-context-protocol", "conformance", "test"],
  bin: { mcpconform: "mcpconform.js" },
  engines: { node: ">=18" },
  optionalDependencies,
}, {
  "mcpconform.js": path.join(__dirname, "mcpconform.js"),
  "README.md": path.join(root, "README.md"),
});
