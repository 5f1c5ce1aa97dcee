"""A driver of the client of the Python SDK 2 (mcp): it does the steps of MCPCONFORM_STEPS and
tells how each went, as docs/clients.md of mcpconform describes. It makes a client of the SDK
as it is: where yours is made otherwise, make yours in connect."""

import asyncio
import json
import os
import sys
import warnings
from collections import defaultdict, deque

from mcp import Client, MCPError, StdioServerParameters, UriTemplate, types

STEPS = json.loads(os.environ["MCPCONFORM_STEPS"])
REVISION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
SERVER = sys.argv[1:]

LISTS = {
    "tools": ("list_tools", "tools"),
    "resources": ("list_resources", "resources"),
    "templates": ("list_resource_templates", "resource_templates"),
    "prompts": ("list_prompts", "prompts"),
}
RESULTS = {
    "sampling/createMessage": types.CreateMessageResult,
    "elicitation/create": types.ElicitResult,
    "roots/list": types.ListRootsResult,
}


class LeftOut(Exception):
    """The library has no API for a step."""


class Driver:
    def __init__(self):
        self.client = None
        self.answers = defaultdict(deque)  # by method: steps answer-with
        self.capabilities = defaultdict(dict)  # by method
        self.roots = None  # of change-roots
        self.seen = defaultdict(lambda: asyncio.Semaphore(0))  # by method: what the server has sent
        self.running = {}  # by name: steps that are not waited for
        self.listening = []  # subscriptions that are open

    def saw(self, method):
        self.seen[method].release()

    async def notified(self, message):
        method = getattr(getattr(message, "root", message), "method", None)
        if method:
            self.saw(method)

    def handler(self, method):
        """What the library calls when the server asks; nothing where no step answers."""
        if method not in self.answers:
            return None

        async def answer(*_):
            self.saw(method)
            queue = self.answers[method]
            step = queue.popleft() if len(queue) > 1 else queue[0]
            if step.get("silent"):
                await asyncio.Event().wait()
            await asyncio.sleep(step.get("delay", 0) / 1000)
            if "error" in step:
                return types.ErrorData(**step["error"])
            if method == "roots/list" and self.roots is not None:
                return types.ListRootsResult(roots=self.roots)
            return RESULTS[method].model_validate(step["result"])

        return answer

    async def answer_with(self, step):
        self.answers[step["method"]].append(step)
        self.capabilities[step["method"]].update(step.get("capability", {}))

    async def connect(self, step):
        revision = step.get("revision") or REVISION
        sampling = None
        if "sampling/createMessage" in self.answers:
            sampling = types.SamplingCapability.model_validate(self.capabilities["sampling/createMessage"])
        over_http = SERVER[0].startswith(("http://", "https://"))
        self.client = Client(
            SERVER[0] if over_http else StdioServerParameters(command=SERVER[0], args=SERVER[1:]),
            mode=revision if revision >= "2026" else "legacy" if revision else "auto",
            client_info=types.Implementation(name="python-sdk-driver", version="1.0.0"),
            sampling_callback=self.handler("sampling/createMessage"),
            sampling_capabilities=sampling,
            elicitation_callback=self.handler("elicitation/create"),
            list_roots_callback=self.handler("roots/list"),
            message_handler=self.notified,
        )
        await self.client.__aenter__()
        info = self.client.server_info
        return {
            "revision": self.client.protocol_version,
            "serverInfo": info.model_dump(mode="json", by_alias=True, exclude_none=True) if info else None,
        }

    async def list(self, step):
        if step["of"] not in LISTS:
            raise LeftOut(f"no list of {step['of']}")
        method, member = LISTS[step["of"]]
        items, cursor = [], None
        while True:
            page = await getattr(self.client, method)(cursor=cursor)
            items += getattr(page, member)
            cursor = page.next_cursor
            if cursor is None:
                return items

    async def call(self, step):
        if "task" in step:
            raise LeftOut("no calls as tasks")

        async def progressed(*_):
            pass

        return await self.client.call_tool(
            step["tool"],
            step.get("arguments"),
            read_timeout_seconds=step["timeout"] / 1000 if "timeout" in step else None,
            progress_callback=progressed if step.get("progress") else None,
        )

    async def read(self, step):
        uri = step.get("uri")
        if uri is None:
            uri = UriTemplate.parse(step["template"]).expand(step.get("arguments", {}))
        return await self.client.read_resource(uri)

    async def get(self, step):
        return await self.client.get_prompt(step["prompt"], step.get("arguments"))

    async def complete(self, step):
        kind = types.PromptReference if step["ref"]["type"] == "ref/prompt" else types.ResourceTemplateReference
        context = step.get("context", {}).get("arguments")
        return await self.client.complete(kind.model_validate(step["ref"]), step["argument"], context)

    async def subscribe(self, step):
        await self.client.subscribe_resource(step["uri"])

    async def unsubscribe(self, step):
        await self.client.unsubscribe_resource(step["uri"])

    async def listen(self, step):
        to = step["to"]
        stream = self.client.listen(
            tools_list_changed=to.get("toolsListChanged", False),
            prompts_list_changed=to.get("promptsListChanged", False),
            resources_list_changed=to.get("resourcesListChanged", False),
            resource_subscriptions=to.get("resourceSubscriptions", []),
        )
        subscription = await stream.__aenter__()
        self.listening.append(stream)

        async def drain():
            async for _ in subscription:
                pass

        asyncio.ensure_future(drain())

    async def set_level(self, step):
        await self.client.set_logging_level(step["level"])

    async def ping(self, _):
        await self.client.send_ping()

    async def change_roots(self, step):
        self.roots = [types.Root.model_validate(root) for root in step["roots"]]
        await self.client.send_roots_list_changed()

    async def wait_for(self, step):
        await self.seen[step["method"]].acquire()

    async def finish(self, step):
        if task := self.running.get(step["what"]):
            await asyncio.wait([task])

    async def cancel(self, step):
        if task := self.running.get(step["what"]):
            task.cancel()

    async def close(self, _):
        for stream in self.listening:
            await stream.__aexit__(None, None, None)
        await self.client.__aexit__(None, None, None)

    async def no_tasks(self, _):
        raise LeftOut("no tasks")

    VERBS = {
        "answer-with": answer_with, "connect": connect, "list": list, "call": call, "read": read, "get": get,
        "complete": complete, "subscribe": subscribe, "unsubscribe": unsubscribe, "listen": listen,
        "set-level": set_level, "ping": ping, "get-task": no_tasks, "task-result": no_tasks,
        "cancel-task": no_tasks, "change-roots": change_roots, "wait-for": wait_for, "await": finish,
        "cancel": cancel, "close": close,
    }  # fmt: skip

    async def perform(self, number, step):
        """Does a step and tells how it went; returns whether it was done."""
        try:
            result = await self.VERBS[step["do"]](self, step)
        except (Exception, asyncio.CancelledError) as problem:
            said = problem.error.message if isinstance(problem, MCPError) else str(problem)
            tell({"step": step.get("id", number), "outcome": "failed", "error": said or type(problem).__name__})
            return False
        tell({"step": step.get("id", number), "outcome": "done", "result": result})
        return True


def tell(outcome):
    def plain(value):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)

    print(json.dumps(outcome, default=plain), flush=True)


async def main():
    warnings.simplefilter("ignore")  # of deprecated methods, which steps ask for
    driver = Driver()
    for number, step in enumerate(STEPS):
        doing = asyncio.ensure_future(driver.perform(number, step))
        if "as" in step:
            driver.running[step["as"]] = doing
            await asyncio.sleep(0)
        elif not await doing and step["do"] == "connect":
            return 1
    return 0


sys.exit(asyncio.run(main()))
