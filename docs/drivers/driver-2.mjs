// A driver of the client of the TypeScript SDK 2: it does the steps of MCPCONFORM_STEPS and
// tells how each went, as docs/clients.md of mcpconform describes. It makes a client of the
// SDK as it is: where yours is made otherwise, make yours in connect.
import {
    Client, ProtocolError, SSEClientTransport, StreamableHTTPClientTransport, UriTemplate
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const steps = JSON.parse(process.env.MCPCONFORM_STEPS);
const server = process.argv.slice(2);
const overHTTP = /^https?:/.test(server[0]);
const wanted = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION;
const firstModern = '2026-07-28';

const asked = { 'roots/list': 'roots', 'sampling/createMessage': 'sampling', 'elicitation/create': 'elicitation' };
const lists = {
    tools: ['listTools', 'tools'], resources: ['listResources', 'resources'],
    templates: ['listResourceTemplates', 'resourceTemplates'], prompts: ['listPrompts', 'prompts']
};

const answers = {}; // by method: steps answer-with
const capabilities = {};
const seen = {}; // by method: messages of the server that no wait-for has taken
const waiting = {}; // by method: who waits for the next one
const running = {}; // by name: steps that are not waited for
let roots, client, transport;

function saw(method) {
    const next = waiting[method]?.shift();
    if (next) next();
    else seen[method] = (seen[method] ?? 0) + 1;
}

async function answer(method) {
    const queue = answers[method];
    const step = queue.length > 1 ? queue.shift() : queue[0];
    if (step.silent) return new Promise(() => {});
    if (step.delay) await new Promise(resolve => setTimeout(resolve, step.delay));
    if (step.error) throw new ProtocolError(step.error.code, step.error.message);
    return method === 'roots/list' && roots ? { roots } : step.result;
}

function negotiation(revision) {
    if (!revision) return { mode: 'auto' };
    return { mode: revision < firstModern ? 'legacy' : { pin: revision } };
}

async function connect(step) {
    client = new Client({ name: 'typescript-sdk-driver', version: '1.0.0' }, {
        capabilities: structuredClone(capabilities), versionNegotiation: negotiation(step.revision ?? wanted)
    });
    for (const method of Object.keys(answers)) {
        client.setRequestHandler(method, () => {
            if (!seenByTransport()) saw(method); // an input request comes in a result
            return answer(method);
        });
    }
    if (!overHTTP) {
        return await open(new StdioClientTransport({ command: server[0], args: server.slice(1), env: process.env }));
    }
    try {
        return await open(new StreamableHTTPClientTransport(new URL(server[0])));
    } catch (problem) { // a server of the older transport, as the SDK's own documentation has it
        if (![400, 404, 405].includes(problem.status)) throw problem;
        return await open(new SSEClientTransport(new URL(server[0])));
    }
}

async function open(through) {
    transport = through;
    transport.onmessage = message => message.method && saw(message.method);
    await client.connect(transport);
    return { revision: client.getNegotiatedProtocolVersion(), serverInfo: client.getServerVersion() };
}

// Up to 2025-11-25 the server's requests are messages, which the transport has shown.
function seenByTransport() {
    return client.getProtocolEra() !== 'modern';
}

async function list(of, options) {
    const [method, member] = lists[of];
    const items = [];
    let cursor;
    do {
        const page = await client[method](cursor === undefined ? undefined : { cursor }, options);
        items.push(...page[member]);
        cursor = page.nextCursor;
    } while (cursor !== undefined);
    return items;
}

async function noTasks() {
    throw new Error('the library has no tasks');
}

const verbs = {
    'answer-with': step => {
        (answers[step.method] ??= []).push(step);
        Object.assign(capabilities[asked[step.method]] ??= {}, step.capability);
    },
    connect,
    list: (step, options) => list(step.of, options),
    call: (step, options) => step.task ? noTasks() : client.callTool({ name: step.tool, arguments: step.arguments }, options),
    read: (step, options) => {
        const uri = step.uri ?? new UriTemplate(step.template).expand(step.arguments ?? {});
        return client.readResource({ uri }, options);
    },
    get: (step, options) => client.getPrompt({ name: step.prompt, arguments: step.arguments }, options),
    complete: (step, options) => client.complete({ ref: step.ref, argument: step.argument, context: step.context }, options),
    subscribe: (step, options) => client.subscribeResource({ uri: step.uri }, options),
    unsubscribe: (step, options) => client.unsubscribeResource({ uri: step.uri }, options),
    'set-level': (step, options) => client.setLoggingLevel(step.level, options),
    ping: (step, options) => client.ping(options),
    listen: async step => void await client.listen(step.to),
    'get-task': noTasks,
    'task-result': noTasks,
    'cancel-task': noTasks,
    'change-roots': step => {
        roots = step.roots;
        return client.sendRootsListChanged();
    },
    'wait-for': async step => {
        if (seen[step.method] > 0) seen[step.method]--;
        else await new Promise(resolve => (waiting[step.method] ??= []).push(resolve));
    },
    await: step => running[step.what]?.done,
    cancel: step => running[step.what]?.stop.abort('told to'),
    close: async () => {
        if (transport?.terminateSession) await transport.terminateSession();
        await client.close();
    }
};

async function perform(step, number) {
    const stop = new AbortController();
    const options = { signal: stop.signal, timeout: step.timeout };
    if (step.progress) options.onprogress = () => {};
    const tell = how => console.log(JSON.stringify({ step: step.id ?? number, ...how }));
    const done = (async () => {
        if (!verbs[step.do]) throw new Error(`this driver does not know the step ${step.do}`);
        return await verbs[step.do](step, options);
    })().then(
        result => tell({ outcome: 'done', result }),
        problem => {
            tell({ outcome: 'failed', error: String(problem) });
            if (step.do === 'connect') process.exit(1);
        }
    );
    if (step.as) running[step.as] = { stop, done };
    else await done;
}

for (const [number, step] of steps.entries()) await perform(step, number);
process.exit(0);
