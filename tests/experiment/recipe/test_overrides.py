from gotta.experiment.recipe.exchange import fits_nowhere, fitting

OVER = {"memory": {"epsilon": 0.1, "capacity": 8}}


def cell(memory, **more):
    return {"memory": {"name": memory}, **more}


def test_a_cell_takes_the_arguments_its_memory_knows():
    assert fitting(OVER, cell("fps")) == OVER
    assert fitting(OVER, cell("fifo")) == {"memory": {"capacity": 8}}
    assert fitting(OVER, cell("fps", control="true_kcenter")) == {"memory": {"capacity": 8}}
    assert OVER["memory"]["epsilon"] == 0.1


def test_an_argument_that_no_cell_takes_is_a_mistake_with_a_way_out():
    assert fits_nowhere(OVER, [cell("fifo"), cell("fps")]) == []
    (complaint,) = fits_nowhere({"memory": {"epsilom": 0.1}}, [cell("fifo"), cell("fps")])
    assert "memory.epsilom" in complaint
    assert "Did you mean 'memory.epsilon'" in complaint
