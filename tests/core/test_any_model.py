"""Models nobody here wrote, called as their libraries call them: transformers, timm, torchvision, Lightning."""

import importlib
import warnings

import numpy as np
import pytest
import torch
from PIL import Image
from tiny import seeded_net

import gotta
from gotta.models.foreign import _import_torchvision

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*torch.jit.*"),
]


def library(name):
    """A package, or a skip that names it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if importlib.util.find_spec("torchvision"):
                _import_torchvision()  # which the others import
            return importlib.import_module(name)
        except ImportError:
            pytest.skip(f"{name} is not installed")


@pytest.fixture
def hf():
    return library("transformers")


def seeded(make):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make().eval()


def images(seed=0, count=4, size=32):
    return torch.rand(count, 3, size, size, generator=torch.Generator().manual_seed(seed))


def hf_resnet(hf):
    config = hf.ResNetConfig(num_labels=5, hidden_sizes=[16, 32], depths=[1, 1], embedding_size=8)
    return seeded(lambda: hf.ResNetForImageClassification(config))


def hf_vit(hf):
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = hf.ViTConfig(num_labels=5, image_size=32, patch_size=8, **shape)
    return seeded(lambda: hf.ViTForImageClassification(config))


def hf_bert(hf):
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    return seeded(lambda: hf.BertForSequenceClassification(hf.BertConfig(vocab_size=100, num_labels=3, **shape)))


@pytest.mark.parametrize("method", ["source", "deskew", "tent"])
@pytest.mark.parametrize("make", [hf_resnet, hf_vit])
def test_images_of_transformers(hf, make, method):
    net, x = make(hf), images()
    model = gotta.adapt(net, method)
    given = model(labels=torch.zeros(4, dtype=torch.int64), pixel_values=x, output_hidden_states=True)
    assert type(given) is type(net(x))
    assert given.keys() == {"loss", "logits", "hidden_states"}
    assert torch.equal(given["logits"], given.logits)
    assert torch.equal(given[1], given.logits)
    if method == "source":
        assert torch.equal(given.logits, net(x).logits)
    assert isinstance(model(x, return_dict=False), tuple)


def test_a_memory_of_images_by_name(hf):
    model = gotta.adapt(hf_resnet(hf), "rotta", "fps", capacity=8, sample="pixel_values")
    for seed in range(5):
        assert model(pixel_values=images(seed)).logits.shape == (4, 5)
    assert model.adaptations
    assert tuple(model.memory.peek().x.shape[1:]) == (3, 32, 32)


@pytest.mark.parametrize("method", ["source", "deskew", "tent", "lame"])
def test_texts_of_transformers(hf, method):
    net = hf_bert(hf)
    model = gotta.adapt(net, method)
    for length in (7, 4):
        ids = torch.randint(100, (4, length), generator=torch.Generator().manual_seed(length))
        batch = hf.BatchEncoding({"input_ids": ids, "attention_mask": torch.ones_like(ids)})
        given = model(**batch)
        assert type(given) is type(net(**batch))
        if method == "source":
            assert torch.equal(given.logits, net(**batch).logits)


def test_streams_of_a_model_that_gives_its_cache_back(hf):
    config = hf.GPT2Config(
        vocab_size=100, n_embd=16, n_layer=2, n_head=2, pad_token_id=0, bos_token_id=1, eos_token_id=2, num_labels=3
    )
    net = seeded(lambda: hf.GPT2ForSequenceClassification(config))
    ids = torch.randint(3, 100, (4, 7), generator=torch.Generator().manual_seed(0))
    given, expected = gotta.adapt(net, "tent")(input_ids=ids, stream=["a", "b", "b", "a"]), net(input_ids=ids)
    assert type(given) is type(expected)
    assert given.logits.shape == (4, 3)
    keys, own = (output.past_key_values.layers[0].keys for output in (given, expected))
    torch.testing.assert_close(keys, own, rtol=0, atol=1e-3)  # stream b comes after a step on stream a
    assert (own - own.flip(0)).abs().max() > 1e-2


def test_a_pipeline(hf):
    net, processor = hf_resnet(hf), hf.ViTImageProcessor(size={"height": 32, "width": 32})
    pictures = [Image.fromarray(np.random.default_rng(at).integers(0, 255, (32, 32, 3), np.uint8)) for at in range(4)]
    found = [
        hf.pipeline("image-classification", model=model, image_processor=processor)(pictures, batch_size=2)
        for model in (net, gotta.adapt(net, "source"))
    ]
    assert found[0] == found[1]


def test_a_trainer_predicts_images(hf, tmp_path):
    library("accelerate")
    data = [{"pixel_values": image, "labels": at % 5} for at, image in enumerate(images(count=8))]
    check_trainer(hf, hf_resnet(hf), data, tmp_path)


def test_a_trainer_predicts_texts_of_a_data_set(hf, tmp_path):
    library("accelerate")
    rows = {"input_ids": [[5, 6], [7, 8], [9, 1], [2, 3]], "label": [0, 1, 2, 0], "text": ["a", "b", "c", "d"]}
    check_trainer(hf, hf_bert(hf), library("datasets").Dataset.from_dict(rows), tmp_path)


def check_trainer(hf, net, data, folder):
    """With a Trainer's own defaults: it reads names of inputs and of labels from signatures."""
    settings = {"report_to": [], "use_cpu": True, "disable_tqdm": True, "per_device_eval_batch_size": 4}
    found = [
        hf.Trainer(model=model, args=hf.TrainingArguments(str(folder), **settings)).predict(data)
        for model in (net, gotta.adapt(net, "source"), gotta.adapt(net, "tent"))
    ]
    np.testing.assert_allclose(found[1].predictions, found[0].predictions, atol=1e-6)
    assert found[1].metrics["test_loss"] == pytest.approx(found[0].metrics["test_loss"], abs=1e-5)
    assert found[2].predictions.shape == found[0].predictions.shape


def test_save_pretrained_of_a_folded_model(hf, tmp_path):
    model = gotta.adapt(hf_resnet(hf), "tent", lr=0.1)
    for seed in range(5):
        model(images(seed))
    with pytest.raises(AttributeError, match=r"model\.fold\(\)\.save_pretrained"):
        model.save_pretrained(tmp_path)
    model.fold().save_pretrained(tmp_path)
    again = hf.ResNetForImageClassification.from_pretrained(tmp_path).eval()
    model.freeze()
    torch.testing.assert_close(again(images(9)).logits, model(images(9)).logits, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["resnet10t", "vit_tiny_patch16_224", "mobilenetv3_small_050"])
def test_timm(name):
    timm = library("timm")
    size = 224 if "vit" in name else 64
    net = seeded(lambda: timm.create_model(name, num_classes=7))
    for method in ("source", "deskew", "tent"):
        model = gotta.adapt(net, method)
        assert model(images(size=size)).shape == (4, 7)
    assert torch.equal(gotta.adapt(net, "source")(images(size=size)), net(images(size=size)))


def test_a_layer_that_is_exchanged_keeps_the_activation_inside():
    timm = library("timm")
    net, x = seeded(lambda: timm.create_model("regnetx_002", num_classes=7)), images(size=64)
    model = gotta.adapt(net, "rotta", "fps", capacity=64)
    torch.testing.assert_close(model(x), net(x))  # nothing was adapted to yet
    torch.testing.assert_close(model.fold()(x), net(x))


def test_torchvision_and_what_sar_trains():
    vision = library("torchvision")
    net = seeded(lambda: vision.models.densenet121(num_classes=7))
    model = gotta.adapt(net, "sar")
    assert "features.denseblock1-3" in repr(model)
    assert not any("denseblock4" in name for name in model.method.trained)
    assert model(images()).shape == (4, 7)


def test_torchvision_layers_that_have_a_version():
    vision = library("torchvision")
    model = gotta.adapt(seeded(lambda: vision.models.mnasnet0_5(num_classes=7)), "tent")
    first = model(images(size=64))
    model.reset()
    assert torch.equal(model(images(size=64)), first)


def test_a_lightning_module_predicts_and_its_checkpoint_holds_the_memory(tmp_path):
    lightning = library("lightning")

    class Served(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = gotta.adapt(seeded_net(), "rotta", "fps", capacity=8, seed=1)

        def predict_step(self, batch, at):
            return self.model(batch)

    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        served, trainer = Served(), lightning.Trainer(default_root_dir=tmp_path, **quiet)
        batches = torch.utils.data.DataLoader(images(count=24, size=8), batch_size=6)
        found = torch.cat(trainer.predict(served, batches))
        trainer.save_checkpoint(tmp_path / "served.ckpt", weights_only=True)
        again = Served.load_from_checkpoint(tmp_path / "served.ckpt", map_location="cpu")
    plain = gotta.adapt(seeded_net(), "rotta", "fps", capacity=8, seed=1)
    assert torch.equal(found, torch.cat([plain(x) for x in images(count=24, size=8).split(6)]))
    assert len(again.model.memory) == len(plain.memory) > 0
    x = images(9, size=8)
    assert torch.equal(again.model(x), plain(x))


def test_an_accelerate_checkpoint_holds_the_memory(tmp_path):
    accelerate = library("accelerate")
    settings = {"method": "rotta", "memory": "fps", "capacity": 8, "seed": 1}
    model, again = (gotta.adapt(seeded_net(), **settings) for _ in "ab")
    for seed in range(4):
        model(images(seed, size=8))
    accelerator = accelerate.Accelerator(cpu=True)
    accelerator.save_model(accelerator.prepare(model), tmp_path)
    accelerate.load_checkpoint_in_model(again, tmp_path)
    x = images(9, size=8)
    assert len(again.memory) == len(model.memory) > 0
    assert torch.equal(again(x), model(x))
