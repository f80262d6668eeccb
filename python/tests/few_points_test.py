"""One warning a model, where a layer's sample has few points."""

import copy
import io
import pickle
import warnings

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import samplenorm as sn

X = torch.randn(2, 3, 32, 32)


def model_of(spec, **options):
    """Its layers have 1/16 of 2048, 512 and 128 points with FS-1/16."""
    model = nn.Sequential(nn.BatchNorm2d(3), nn.AvgPool2d(2), nn.BatchNorm2d(3), nn.AvgPool2d(2), nn.BatchNorm2d(3))
    return sn.convert(model, spec, **options)


def told(run, times=3):
    """The warnings of so many calls."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(times):
            run()
    return [str(each.message) for each in seen if "So few points" in str(each.message)]


def test_a_model_warns_once_and_names_the_worst_layer():
    model = model_of("FS-1/16")
    [message] = told(lambda: model(X))
    assert message == ("samplenorm: FS-1/16 takes the statistics of layer 4 from 8 points a channel (1 of 3 layers have fewer than 32). So few "
                       "points give noisy statistics: ';least=32' in the notation asks for more; LS-1/64 takes 1,024 where the layer has them")
    assert all(layer.few_points is None for layer in model[::2])
    sn.convert(model, "FS-1/32")
    assert "2 of 3 layers" in told(lambda: model(X))[0]


def test_a_layer_alone_warns_for_itself():
    layer = sn.BatchNorm2d(3, spec="BS-1/8")
    [message] = told(lambda: layer(torch.randn(8, 3, 2, 3)))
    assert "BS-1/8 takes the statistics of a layer from 6 points a channel. So few" in message
    layer = sn.BatchNorm2d(3, spec="VDN-2/8")
    assert "more virtual rows give more points" in told(lambda: layer(torch.randn(10, 3, 2, 2)))[0]


@pytest.mark.parametrize("spec", ["BN", "LS-1/64", "FS-1/64;least=32", "FS-1/1", "BN;stat_batch=1"])
def test_whole_layers_and_enough_points_are_no_reason_to_warn(spec):
    model = model_of(spec)
    assert told(lambda: model(X)) == []


def test_a_layer_that_comes_again_before_all_have_come_has_the_others_told():
    model = model_of("FS-1/64")
    sn.freeze(model[4])
    assert told(lambda: model(X), 1) == []
    [message] = told(lambda: model(X))
    assert "layer 2 from 8 points a channel (1 of 2 layers" in message


def test_evaluation_recalibration_and_empty_batches_report_nothing():
    model = model_of("FS-1/16")
    assert told(lambda: model.eval()(X)) == []
    model.train()
    assert told(lambda: sn.recalibrate(model, [X, X])) == []
    assert told(lambda: model(X[:0])) == []
    assert len(told(lambda: model(X))) == 1


def test_recomputed_forwards_are_not_reports():
    layers = nn.Sequential(*(sn.BatchNorm2d(3, spec="FS-1/64") for _ in range(2)))
    model = sn.convert(nn.Sequential(layers, nn.AvgPool2d(2), nn.BatchNorm2d(3)), "FS-1/64")
    sn.freeze(model[2])
    run = lambda: checkpoint(layers, X.clone().requires_grad_(), use_reentrant=False).sum().backward()
    assert told(run, 1) == [] and not model[0][0].few_points[0].done


def test_compiled_models_and_torch_func_do_not_report():
    model = model_of("FS-1/16")
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    assert told(lambda: compiled(X)) == []
    layer = sn.BatchNorm2d(3, spec="FS-1/256", track_running_stats=False)
    assert told(lambda: torch.func.vmap(layer)(torch.stack([X, X]))) == []
    assert told(lambda: torch.func.grad(lambda x: layer(x).sin().sum())(X)) == []
    assert len(told(lambda: layer(X))) == 1


def copies(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return [copy.deepcopy(model), pickle.loads(pickle.dumps(model)), torch.load(file, weights_only=False)]


def test_copies_and_loaded_models_warn_once_too():
    model = model_of("FS-1/16")
    for twin in copies(model):
        assert twin[0].few_points[0] is twin[4].few_points[0] is not model[0].few_points[0]
        assert len(told(lambda: twin(X))) == 1
    told(lambda: model(X))
    for twin in copies(model):
        assert told(lambda: twin(X)) == []
    other = model_of("FS-1/16")
    other.load_state_dict(model.state_dict())
    assert len(told(lambda: other(X))) == 1


def test_models_saved_before_there_was_a_watch_go_on():
    model = model_of("FS-1/16")
    for layer in model[::2]:
        del layer.few_points
    assert told(lambda: model(X)) == []


def test_a_fused_model_warns_once_and_a_restored_one_has_nothing_left():
    model = sn.convert(nn.Sequential(nn.BatchNorm2d(3), nn.ReLU(), nn.BatchNorm2d(3), nn.ReLU()), "FS-1/256")
    fused = model
    [message] = told(lambda: fused(X))
    assert "layer 0 from 8 points a channel (2 of 2 layers" in message
    model = model_of("FS-1/16")
    sn.restore(model)
    assert vars(model[0]).keys() == vars(nn.BatchNorm2d(3)).keys() and told(lambda: model(X)) == []
