"""Asks `opscope mcp` as agents do, with the protocol's official client: a tool of each kind, documentation, a
question, an error, progress, and the end.

    client.py PROGRAM FOLDER PROFILE
"""

import asyncio
import json
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

PROGRAM, FOLDER, PROFILE = sys.argv[1:]


async def main():
    server = StdioServerParameters(command=PROGRAM, args=["mcp", FOLDER])
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        told = await session.initialize()
        print("server", getattr(told, "serverInfo", None) or told.server_info)
        tools = (await session.list_tools()).tools
        names = sorted(tool.name for tool in tools)
        assert names == sorted(
            "open info analyze operators advise explain compare sql timeline_window model".split()
        ), names
        for tool in tools:
            schema = getattr(tool, "inputSchema", None) or tool.input_schema
            assert schema["type"] == "object" and tool.description, tool
            for name, argument in schema["properties"].items():
                assert argument.get("description") and argument.get("type"), (tool.name, name, argument)

        async def ask(tool, **arguments):
            answer = await session.call_tool(tool, arguments)
            is_error = getattr(answer, "isError", None)
            if is_error is None:
                is_error = answer.is_error
            assert not is_error, answer
            return answer.content[0].text

        steps = []

        async def step(progress, total, message):
            steps.append(message)

        await session.call_tool("open", {"path": PROFILE}, progress_callback=step)
        opened = json.loads(await ask("open", path=PROFILE))
        assert opened["rows"]["tasks"] > 0, opened
        for tool in ("info", "analyze", "operators", "advise", "timeline_window"):
            answer = json.loads(await ask(tool, path=PROFILE))
            assert answer["program"] == "opscope" and answer["path" if tool != "advise" else "target"], answer
        rows = json.loads(await ask("sql", path=PROFILE, statement="SELECT count(*) AS n FROM tasks"))["rows"]
        assert rows == [{"n": opened["rows"]["tasks"]}], rows
        same = json.loads(await ask("compare", before=PROFILE, after=PROFILE))
        assert same["before_ns"] == same["after_ns"], same
        assert "UB" in await ask("explain", text="memory")
        wrong = await session.call_tool("analyze", {"path": "/etc/passwd"})
        assert "outside" in wrong.content[0].text, wrong
        pages = (await session.list_resources()).resources
        for page in pages:
            read = await session.read_resource(page.uri)
            assert len(read.contents[0].text) > 100, page
        questions = (await session.list_prompts()).prompts
        assert questions
        question = await session.get_prompt("why-slow", {"profile": PROFILE})
        assert PROFILE in question.messages[0].content.text
        print("steps", steps)


asyncio.run(asyncio.wait_for(main(), 100))
