import http.client
import json
import socket
import struct
import threading

import pytest
from made_store import many_runs, with_recording, write

from gotta.errors import GottaError
from gotta.report.store.serve import Served, is_trusted, server


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    root = tmp_path_factory.mktemp("served")
    write(root, list(many_runs(seeds=(0,))))
    with_recording(root, "norm-fps-0")
    (root / "secret.json").write_text("{}")
    with server(root) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(made, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", made.server_address[1], timeout=30)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_it_listens_on_this_machine_only(served):
    assert served.server_address[0] == "127.0.0.1"


def test_page_state_and_recordings(served):
    answer, body = ask(served, "/")
    assert answer.status == 200
    assert b"data-live" in body
    assert b"connect-src &#39;self&#39;" in body
    answer, body = ask(served, "/state.json")
    assert "runs finished" in json.loads(body)["text"]
    again, empty = ask(served, "/state.json", **{"If-None-Match": answer.headers["ETag"]})
    assert (again.status, empty) == (304, b"")
    answer, body = ask(served, "/records/norm-fps-0.json")
    assert json.loads(body)["format"] == 1


@pytest.mark.parametrize(
    "path",
    ["/records/none.json", "/records/../secret.json", "/records/..%2Fsecret.json", "/secret.json", "/runs/", "/x"],
)
def test_nothing_else_is_served(served, path):
    assert ask(served, path)[0].status == 404


def test_it_only_reads(served):
    assert ask(served, "/", "POST")[0].status == 501
    assert ask(served, "/", "HEAD")[1] == b""


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "", "[::1"])
def test_foreign_names_are_refused(served, host):
    assert ask(served, "/", Host=host)[0].status == 403


def test_nothing_a_reader_does_is_told_in_the_terminal(served, capfd):
    place = ("127.0.0.1", served.server_address[1])
    with socket.create_connection(place, 5) as reader:
        reader.sendall(b"GET http://[::1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 403 " in reader.recv(100)
    with socket.create_connection(place, 5) as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closes with a reset
    assert ask(served, "/state.json")[0].status == 200
    assert capfd.readouterr().err == ""


def test_runs_that_go_while_they_are_read_are_asked_for_again(served, monkeypatch):
    def gone(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr(served.RequestHandlerClass, "answer_to", staticmethod(gone))
    assert ask(served, "/")[0].status == 503


def test_names_of_this_machine_are_trusted():
    assert is_trusted("127.0.0.1:8265", "127.0.0.1")
    assert is_trusted("[::1]:8265", "::1")
    assert is_trusted("10.0.0.7", "0.0.0.0")
    assert not is_trusted(None, "127.0.0.1")


def test_a_taken_port_is_one_message(served, tmp_path):
    with pytest.raises(GottaError, match=f"cannot listen on .*{served.server_address[1]}: .* in use.*--port 0"):
        server(tmp_path, port=served.server_address[1])


def test_a_link_below_records_is_not_served(tmp_path):
    write(tmp_path / "store", list(many_runs(seeds=(0,))))
    (tmp_path / "secret").write_text("{}")
    (tmp_path / "store" / "records").mkdir()
    (tmp_path / "store" / "records" / "norm-fps-0.json").symlink_to(tmp_path / "secret")
    (tmp_path / "store" / "records" / "norm-none-0.json").symlink_to(tmp_path / "nowhere")
    served = Served(tmp_path / "store")
    assert served.answer("/records/norm-fps-0.json") is served.answer("/records/norm-none-0.json") is None
    assert served.page()


def test_two_hundred_readers_at_once_all_get_an_answer(tmp_path):
    """All have connected before the first is answered: the system keeps none of them waiting outside."""
    write(tmp_path, list(many_runs(seeds=(0,))))
    with server(tmp_path) as made:
        readers = [http.client.HTTPConnection(*made.server_address[:2], timeout=10) for _ in range(200)]
        for reader in readers:
            reader.request("GET", "/state.json")
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        assert [reader.getresponse().status for reader in readers] == [200] * 200
        for reader in readers:
            reader.close()
        made.shutdown()
        thread.join()
