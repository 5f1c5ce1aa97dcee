"""A stand-in of the Python SDK, as much of it as the driver uses: it says what it was asked."""

import asyncio
from types import SimpleNamespace

from . import types


class MCPError(Exception):
    def __init__(self, message):
        super().__init__(message)
        self.error = SimpleNamespace(message=message)


class StdioServerParameters(SimpleNamespace):
    pass


class UriTemplate(SimpleNamespace):
    @classmethod
    def parse(cls, text):
        return cls(text=text)

    def expand(self, values):
        return self.text.format(**values)


class Client:
    def __init__(self, server, **options):
        self.server, self.options = server, options
        self.protocol_version = options["mode"]
        self.server_info = types.Implementation(name="stand-in", version="1")

    async def __aenter__(self):
        await self.options["message_handler"](SimpleNamespace(method="notifications/message"))
        return self

    async def __aexit__(self, *_):
        pass

    async def list_tools(self, cursor=None):
        return SimpleNamespace(tools=[types.Model(name=cursor or "first")], next_cursor=None if cursor else "second")

    async def call_tool(self, name, arguments, read_timeout_seconds, progress_callback):
        if name == "slow":
            await asyncio.sleep(read_timeout_seconds or 3600)
            raise MCPError("no answer in time")
        asked = await self.options["elicitation_callback"](None, None)
        return types.Model(name=name, arguments=arguments, asked=asked.model_dump(), progress=bool(progress_callback))

    async def read_resource(self, uri):
        return types.Model(uri=uri)
