"""What a launch of a graph costs on the driver "process": one frame, however much is in the graph."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..conftest import ChildFunction

NODES, LAUNCHES = 100, 3


def test_a_launch_is_one_frame(run_process: ChildFunction, liar_of: Callable[[str], str], tmp_path: Path) -> None:
    served = tmp_path / "served"
    program = f"""
    def noted(serve):
        def during(self, frame):
            with open({str(served)!r}, "a") as file:
                print(frame.kind, file=file)
            return serve(self, frame)
        return during
    liar.run(serve=noted)
    """
    done = run_process(
        f"""
        def kinds():
            with open({str(served)!r}) as file:
                return file.read().split()

        stream, graph, kernel = api.stream(), ffi.new("orGraph_t*"), api.kernel("nothing")
        api.ok(lib.orStreamBeginCapture(stream, lib.orStreamCaptureModeRelaxed))
        for _ in range({NODES}):
            api.ok(api.launch(kernel, b"", [], stream))
        api.ok(lib.orStreamEndCapture(stream, graph))
        made = api.get("orGraphInstantiate", graph[0])
        api.ok(lib.orGraphLaunch(made, stream))
        api.ok(lib.orStreamSynchronize(stream))  # by now the nodes are in the executor, which gets each of them once
        before = len(kinds())
        print(kinds().count("launch"))
        for _ in range({LAUNCHES}):
            api.ok(lib.orGraphLaunch(made, stream))
        api.ok(lib.orStreamSynchronize(stream))
        print(*kinds()[before:])
        api.ok(lib.orGraphExecDestroy(made))
        api.ok(lib.orGraphDestroy(graph[0]))
        """,
        liar_of(program),
    )
    nodes, *kinds = done.stdout.split()
    assert nodes == str(NODES)
    assert kinds.count("graph_launch") == LAUNCHES
    # How far the stream has come is told by fences, of which a launch needs one at most; who waits may nudge.
    others = [kind for kind in kinds if kind != "graph_launch"]
    assert set(others) <= {"fence", "nudge"}, kinds
    assert others.count("fence") <= LAUNCHES
