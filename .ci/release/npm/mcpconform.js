#!/usr/bin/env node
// Runs the mcpconform of this platform, which is in a package of its own.
"use strict";
const { spawn } = require("node:child_process");

const { platform, arch, stdin } = process;
const windows = platform === "win32";
const harnessFailed = 4;

function fail(why) {
  console.error(`mcpconform: ${why}`);
  process.exit(harnessFailed);
}

let program;
try {
  program = require.resolve(`@mcpconform/${platform}-${arch}/mcpconform${windows ? ".exe" : ""}`);
} catch {
  fail(`there is no package @mcpconform/${platform}-${arch} beside this one: it was installed without ` +
    "optional dependencies or for another platform, or there is none for yours");
}

// A second signal ends mcpconform without its reports, so each has to reach it once. A
// terminal signals all processes of its foreground group; elsewhere it gets a group of its
// own, and what is sent to the group of this process is passed on.
const ownGroup = !windows && !stdin.isTTY;
const child = spawn(program, process.argv.slice(2), { stdio: "inherit", detached: ownGroup });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (ownGroup || signal === "SIGTERM") child.kill(signal);
  });
}
child.on("error", (error) => fail(error.message));
child.on("exit", (status, signal) => {
  if (signal === null) process.exit(status);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
