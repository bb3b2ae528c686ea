"""Hand-written heads: the points are the scores, the named pairs come out, and nothing is invented for typed text."""
import math
import random
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from qkv_core.attention import SCALES, divisor
from qkv_core.heads import (HEADS, PLACES, concat_parts, difference, drawn_W_o, embed, fired, head_trace, hide, jacobian_reach,
                            matrices, polarity_example, reach_of, steal, together, typed_reach, typed_trace)
from qkv_core.masks import MASKS, build_mask, causal_mask, window_mask
from qkv_core.sentences import FEATURES, MOST_PADDING, PAD, SENTENCES, START, pairs
from qkv_core.typed import CHARACTERS, LIMIT, format_cells, parse_cells, same_words, tokenise
from tests.reference import assert_close, largest_difference

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
LANGUAGES = ("en", "es")


def size(sentence_id):
    return len(SENTENCES[sentence_id].tokens)


def row(sentence_id, head_id, word, mask=None, **options):
    """The weights of the last `word` of a sentence, by key token."""
    trace = head_trace(sentence_id, head_id, mask, **options)
    i = max(i for i, token in enumerate(trace.tokens) if token == word)
    return dict(zip(trace.tokens, trace.trace.weights[i].tolist()))


# the sentences

def test_there_are_at_least_eight_sentences_a_language_and_the_same_ones_in_both():
    names = {lang: [name[3:] for name in SENTENCES if name.startswith(lang)] for lang in LANGUAGES}
    assert names["en"] == names["es"] and len(names["en"]) >= 8
    assert SENTENCES["en_cat"].text == "The cat sat" and SENTENCES["es_cat"].text == "El gato se sentó"
    assert all(sentence.id == name and sentence.lang == name[:2] for name, sentence in SENTENCES.items())


def test_a_token_has_64_different_coordinates_and_only_known_ones():
    assert len(FEATURES) == len(set(FEATURES)) == 64
    for sentence in SENTENCES.values():
        for names in sentence.rows(MOST_PADDING):
            assert names <= set(FEATURES), f"{sentence.id}: {names - set(FEATURES)}"


def test_coordinates_are_0_or_1_and_the_first_layers_are_still_empty():
    for name in SENTENCES:
        X, tokens = embed(name)
        assert X.shape == (len(tokens), 64) and set(X.unique().tolist()) == {0.0, 1.0}
        assert not X[:, [FEATURES.index("asks_living"), FEATURES.index("asks_thing")]].any()
        X.zero_()
        assert embed(name)[0].any(), "a change to one copy reached the next"


def test_the_pair_tired_and_wide_differs_in_one_word_only():
    for lang in LANGUAGES:
        tired, wide = SENTENCES[f"{lang}_tired"].tokens, SENTENCES[f"{lang}_wide"].tokens
        assert tired[:-1] == wide[:-1] and tired[-1] != wide[-1]


# points and scores

def test_wq_holds_the_points_and_wk_the_root_of_64():
    for head in HEADS.values():
        W_q, W_k, W_v = matrices(head)
        assert W_q.shape == W_k.shape == W_v.shape == (64, 64)
        assert {(rule.query, rule.key): float(rule.points) for rule in head.rules} == {
            (head.features[i], head.features[j]): W_q[i, j].item() for i, j in W_q.nonzero().tolist()}
        assert torch.equal(W_k, torch.diag(W_k.diagonal())) and set(W_k.unique().tolist()) == {0.0, 8.0}
        assert (W_q != 0).float().mean() <= 1 / 64, "a head is sparse"


@pytest.mark.parametrize("head_id", HEADS)
def test_the_points_of_the_rules_that_fired_add_up_to_the_scaled_score(head_id):
    within = 0.0 if HEADS[head_id].layer == 1 else 2e-6     # the first layer's shares of 1 are rounded
    for name in SENTENCES:
        head = head_trace(name, head_id, padding=2)
        T = len(head.tokens)
        points = [[sum(f.points for f in fired(head, i, j)) for j in range(T)] for i in range(T)]
        assert_close(points, head.trace.scaled, within, f"{name}, {head_id}")


def test_the_rules_that_fired_for_it_and_the_animal_are_the_readable_ones():
    found = fired(head_trace("en_tired", "coreference"), 8, 2)
    assert [(f.rule.query, f.rule.key, f.rule.points) for f in found] == [
        ("looks", "noun", 8), ("asks_neuter", "neuter", 4), ("asks_living", "living", 4),
        ("asks_singular", "singular", 2)]
    assert [f.points for f in found] == pytest.approx([8, 4, 4 * math.exp(4) / (math.exp(4) + 1), 2], abs=.01)
    assert fired(head_trace("en_tired", "subject"), 1, 2) == (), "a determiner asks the subject head for nothing"


def test_q_k_and_v_are_x_times_the_matrices_and_the_origin_is_named():
    for head_id in HEADS:
        head = head_trace("en_wide", head_id)
        assert head.origin == "hand" and head.tokens[0] == START and head.head == head_id
        for got, W in zip((head.trace.q, head.trace.k, head.trace.v), (head.W_q, head.W_k, head.W_v)):
            assert torch.equal(got, head.X @ W)
        expected = F.scaled_dot_product_attention(head.trace.q, head.trace.k, head.trace.v)
        assert_close(head.trace.output, expected, 1e-5, head_id)


def test_the_second_layer_reads_what_the_first_wrote_into_the_tokens():
    head = head_trace("en_tired", "coreference", tau=.5, scale=False)
    assert head.below.head == "predicate" and head.layer == 2
    assert_close(head.X, embed("en_tired")[0] + head.below.trace.output, 0)
    assert torch.equal(head.below.trace.weights, head_trace("en_tired", "predicate").trace.weights), \
        "tau and scale reached the layer below"
    written = (head.X != embed("en_tired")[0]).any(0).nonzero().flatten().tolist()
    assert {FEATURES[i] for i in written} <= {"asks_living", "asks_thing"}


@pytest.mark.parametrize("head_id", HEADS)
def test_every_sentence_mask_and_scale_has_rows_that_sum_to_1_or_are_empty(head_id):
    for name in SENTENCES:
        T = size(name)
        hole = torch.ones(T, T, dtype=torch.bool)
        hole[1] = False
        masks = [build_mask(mask, T, padding=2, radius=1, prefix=2) for mask in MASKS] + [hole, ~hole]
        for mask in masks:
            full = torch.ones(T) if mask is None else mask.any(-1).float()
            for scale, tau in [*((scale, 1.0) for scale in SCALES), ("none", .1), ("sqrt_dk", 5.0)]:
                head = head_trace(name, head_id, mask, tau, divisor(scale, 64, 512))
                weights = head.trace.weights
                assert weights.isfinite().all() and head.trace.output.isfinite().all()
                assert_close(weights.sum(-1), full, 1e-5, f"{name} {head_id} {scale} {tau}: row sums")
                assert mask is None or not weights[~mask].any()
                assert ("empty_rows" in head.notes) == (full == 0).any()


# what the heads find

@pytest.mark.parametrize("pair", pairs(), ids=lambda p: f"{p.sentence}-{p.head}-{p.i}")
def test_every_named_pair_comes_out_on_top(pair):
    weights = head_trace(pair.sentence, pair.head).trace.weights[pair.i]
    top = tuple((weights >= weights.max() - 1e-6).nonzero().flatten().tolist())
    assert top == pair.keys
    assert weights[list(pair.keys)].sum() > .97


# The same table by words, written apart from the module's own positions.
BY_WORDS = [
    ("en_cat", "subject", "sat", "cat"), ("es_cat", "subject", "sentó", "gato"), ("es_cat", "coreference", "se", "gato"),
    ("en_tired", "coreference", "it", "animal"), ("en_wide", "coreference", "it", "street"),
    ("es_tired", "coreference", "parecía", "animal"), ("es_wide", "coreference", "parecía", "camino"),
    ("en_she", "coreference", "she", "girl"), ("es_she", "coreference", "ella", "niña"),
    ("en_he", "coreference", "he", "boy"), ("en_he", "coreference", "her", "girl"),
    ("es_he", "coreference", "él", "niño"), ("en_they", "coreference", "they", "boys"),
    ("es_they", "coreference", "ellos", "niños"), ("en_tired", "object", "cross", "street"),
    ("es_wide", "object", "cruzó", "camino"), ("en_relative", "subject", "ran", "cat"),
    ("en_relative", "subject", "chased", "dog"), ("es_relative", "subject", "huyó", "gato"),
    ("en_chase", "modifier", "small", "mouse"), ("es_chase", "modifier", "pequeño", "ratón"),
    ("en_book", "object", "read", "book"), ("es_book", "subject", "leyó", "María"),
    ("en_wide", "predicate", "it", "wide"), ("es_tired", "predicate", "parecía", "cansado"),
]


@pytest.mark.parametrize("sentence, head, query, key", BY_WORDS, ids=lambda x: x)
def test_the_table_by_words_comes_out_too(sentence, head, query, key):
    weights = row(sentence, head, query)
    assert max(weights, key=weights.get) == key and weights[key] > .97


def test_every_word_that_matches_something_in_a_meaning_head_is_a_named_pair():
    named = {(pair.sentence, pair.head, pair.i) for pair in pairs()}
    for name in SENTENCES:
        for head_id in ("subject", "object", "modifier", "predicate", "coreference"):
            weights = head_trace(name, head_id).trace.weights
            for i in range(size(name)):
                assert (weights[i].argmax() != 0) == ((name, head_id, i) in named), (name, head_id, i)


@pytest.mark.parametrize("head_id, offset", [("previous", -1), ("next", 1)])
def test_position_heads_read_the_neighbour_and_the_start_where_there_is_none(head_id, offset):
    for name in SENTENCES:
        weights = head_trace(name, head_id).trace.weights
        for i in range(1, size(name)):
            j = i + offset if 1 <= i + offset < size(name) else 0
            assert weights[i].argmax() == j and weights[i, j] > .97


def test_same_word_finds_the_second_the_and_shares_evenly():
    weights = head_trace("en_tired", "same_word").trace.weights
    assert_close(weights[1, [1, 5]], [.5, .5], 1e-4)
    assert_close(weights[1], weights[5], 0)


@pytest.mark.parametrize("lang, word", [("en", "it"), ("es", "parecía")])
def test_under_a_causal_mask_both_readings_are_equal(lang, word):
    tired, wide = (head_trace(f"{lang}_{name}", "coreference", causal_mask(size(f"{lang}_{name}")))
                   for name in ("tired", "wide"))
    i = tired.tokens.index(word)
    assert torch.equal(tired.trace.weights[i], wide.trace.weights[i]), "it can see the adjective"
    assert tired.trace.weights[i, 2] == tired.trace.weights[i, 6], "a noun is preferred without a reason"
    for head in (tired, wide):
        assert {"predicate_hidden", "undecided"} <= set(head.notes)
    plain = head_trace(f"{lang}_tired", "coreference")
    assert not {"predicate_hidden", "undecided"} & set(plain.notes)
    assert difference(plain, head_trace(f"{lang}_wide", "coreference")).largest > .9


def test_a_sentence_that_does_not_decide_is_left_undecided():
    for lang in LANGUAGES:
        assert "undecided" in head_trace(f"{lang}_trophy", "coreference").notes


def test_a_temperature_sharpens_and_flattens_and_a_missing_scale_saturates():
    weights = [row("en_tired", "coreference", "it", tau=tau)["animal"] for tau in (.2, 1.0, 2.5, 5.0)]
    assert weights == sorted(weights, reverse=True) and weights[0] > .999 and weights[-1] < .7
    assert row("en_tired", "coreference", "it", scale=False)["animal"] > 1 - 1e-6


def test_the_same_call_gives_the_same_bytes():
    for head_id in HEADS:
        assert torch.equal(head_trace("en_tired", head_id).trace.weights, head_trace("en_tired", head_id).trace.weights)


@pytest.mark.parametrize("call, message", [
    (lambda: head_trace("en_dog", "subject"), "sentence must be one of en_cat, .*; got 'en_dog'"),
    (lambda: head_trace("en_cat", "verb"), "head must be one of previous, .*; got 'verb'"),
    (lambda: head_trace("en_cat", "subject", padding=9), "padding must be a whole number from 0 to 8; got 9"),
    (lambda: head_trace("en_cat", "subject", causal_mask(3)), r"mask has shape \(3, 3\) but the scores have \(4, 4\)"),
    (lambda: head_trace("en_cat", "subject", tau=0), "tau must be a finite number > 0; got 0"),
    (lambda: fired(head_trace("en_cat", "subject"), 0, 4), "j must be a whole number from 0 to 3; got 4"),
    (lambda: typed_trace("a", "verb"), "head must be one of"),
    (lambda: typed_reach("a", "subject", 0), "no head to differentiate: needs_features"),
    (lambda: jacobian_reach("en_cat", "subject", rows=[4]), "row must be a whole number from 0 to 3; got 4"),
    (lambda: difference(head_trace("en_cat", "next"), head_trace("en_she", "next")), "tokens can be compared; got 4 and 9"),
    (lambda: concat_parts([], torch.eye(2)), r"h tensors \(T, d_v\) with one T; got \[\]"),
    (lambda: concat_parts([torch.ones(2, 3)], torch.eye(2)), "the heads' 3 channels; got"),
    (lambda: polarity_example(torch.ones(2, 3).bool()), r"bool tensor \(T, T\); got"),
    (lambda: format_cells((), 0), "T must be from 1 to 72; got 0"),
])
def test_a_mistake_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# typed text

HOSTILE = ["El niño, ¿qué?", "我喜欢猫。", "カ\u3099が", f"hi\U0001f44b\U0001f3fdthere {FAMILY * 3}", "e\u0301cole\tcafé\u00a0x",
           "مرحبا بالعالم", "\U0001f1ea\U0001f1f8\U0001f1eb\U0001f1f7 1\ufe0f\u20e3 2", "a" * 60,
           'a.b x[0] q:k "it\'s" \\ null NaN 2024', "<img src=x> $x$ *b* :smile: \u2764\ufe0f",
           "  x\u200by \x1c z\x85w\x1f", "\u2028a\ufeff", "\ud800 x", "\u0301a \u200d \U0001f3fd", "", " \t\n\u3000"]


@pytest.mark.parametrize("text", HOSTILE)
def test_joined_tokens_give_back_the_input_and_each_has_a_row(text):
    typed = tokenise(text)
    assert typed.joined == text and typed.found == len(typed.words) == len(typed.spaces) and typed.limited == ""
    assert all(word and not word.isspace() for word in typed.words)
    for head_id in ("previous", "next", "same_word"):
        result = typed_trace(text, head_id)
        if typed.words:
            T = len(typed.words)
            assert result.head.tokens == typed.words and result.head.trace.weights.shape == (T, T)
            assert_close(result.head.trace.weights.sum(-1), torch.ones(T), 1e-5)
        else:
            assert result.head is None and result.reason == "no_words"


def test_words_stay_as_written_and_signs_without_spaces_are_apart():
    assert tokenise("El niño, ¿qué?").words == ("El", "niño,", "¿qué?")
    assert tokenise("我喜欢猫。").words == ("我", "喜", "欢", "猫", "。")
    assert tokenise(FAMILY * 3).words == (FAMILY,) * 3
    assert tokenise("e\u0301cole").words == ("e\u0301cole",)
    assert tokenise("a\u00a0b\tc\u3000d").words == ("a", "b", "c", "d")
    assert tokenise('a.b x[0] q:k "it\'s" \\ null NaN').words == ("a.b", "x[0]", "q:k", '"it\'s"', "\\", "null", "NaN")


def test_every_character_comes_back():
    text = "".join(map(chr, range(0x110000)))
    for start in range(0, len(text), 61):
        piece = text[start:start + 61]
        assert tokenise(piece).joined == piece, hex(start)


@pytest.mark.parametrize("n, kept", [(0, 0), (1, 1), (2, 2), (LIMIT, LIMIT), (LIMIT + 1, LIMIT), (512, LIMIT),
                                     (20_000, LIMIT)])
def test_the_limit_comes_before_the_computing_and_says_how_many_there_were(n, kept):
    text = " ".join(["word"] * n)
    typed = tokenise(text)
    assert (len(typed.words), typed.found, typed.limited) == (kept, n, "tokens" if n > kept else "")
    assert text.startswith(typed.joined)
    if n:
        assert typed_trace(text, "previous").head.trace.weights.shape == (kept, kept)


@pytest.mark.parametrize("text", ["x" * 10**6, " " * 10**6, "\u200d" * 10**6, FAMILY * 50_000, "a b" + " " * 10**6,
                                  ("y" * 100 + " ") * 64, "1" * 10**6, "\u0301" * 10**6])
def test_an_endless_text_is_cut_and_said_so(text):
    typed = tokenise(text)
    assert len(typed.joined) <= CHARACTERS and text.startswith(typed.joined) and len(typed.words) <= LIMIT
    assert typed.limited


def test_capitals_and_punctuation_do_not_make_another_word_and_unknown_words_have_no_features():
    assert same_words(("The", "cat,", "saw", "the", "Cat", "!", "?", "NIÑO", "nin\u0303o.")) == (1, 2, 3, 1, 2, 4, 5, 6, 6)
    weights = typed_trace("The cat saw the Cat.", "same_word").head.trace.weights
    assert_close(weights[0], [.5, 0, 0, .5, 0], 1e-4)
    assert_close(weights[1], [0, .5, 0, 0, .5], 1e-4)
    for head_id in set(HEADS) - {"previous", "next", "same_word"}:
        assert typed_trace("the cat saw the dog", head_id)[1:] == (None, "needs_features")


def test_typed_repeated_words_keep_their_own_rows_and_columns():
    head = typed_trace("the cat saw the dog", "previous").head
    assert head.tokens == ("the", "cat", "saw", "the", "dog") and head.trace.weights.shape == (5, 5)
    assert head.trace.weights.argmax(-1).tolist() == [0, 0, 1, 2, 3], "the first stays with itself"
    assert typed_trace("the cat saw the dog", "next").head.trace.weights.argmax(-1).tolist() == [1, 2, 3, 4, 4]
    assert head.features == PLACES and "ends_stay" in head.notes
    assert [(f.rule.query, f.rule.key, f.points) for f in fired(head, 3, 2)] == [("place_4", "place_3", 12.0)]


def test_a_mask_over_typed_text_leaves_a_token_with_itself():
    weights = typed_trace("a b c d", "next", causal_mask(4)).head.trace.weights
    assert weights.argmax(-1).tolist() == [0, 1, 2, 3] and not weights.triu(1).any()


# putting heads together

def test_the_parts_of_the_heads_add_up_to_the_output():
    made = together("en_tired", seed=3)
    assert made.output.shape == (12, 512) and made.parts.shape == (8, 12, 512) and made.origin == "seed:3"
    assert made.difference < 1e-5
    assert_close(made.concat @ made.W_o, made.output, 0)
    assert torch.equal(made.W_o, together("en_cat", seed=3).W_o) and not torch.equal(made.W_o, together("en_cat").W_o)
    cut = concat_parts([torch.ones(2, 3), torch.ones(2, 4)], torch.ones(7, 5))
    assert_close(cut.parts[:, 0, 0], [3, 4], 0)


def test_the_check_of_the_parts_can_fail():
    outputs = [torch.ones(2, 3), torch.full((2, 3), math.nan)]
    assert not concat_parts(outputs, torch.ones(6, 2)).difference < 1e-5


def test_heads_are_put_together_with_padding_too_and_a_drawn_w_o_has_the_variance_it_claims():
    put, outputs = together("en_cat", padding=3), [head_trace("en_cat", h, padding=3).trace.output for h in HEADS]
    assert put.output.shape == (7, 512)
    assert_close(put.output, torch.cat(outputs, -1) @ drawn_W_o(8), 1e-5, "output")
    assert put.difference < 1e-5
    W_o = drawn_W_o(3, seed=5)
    assert W_o.shape == (192, 512) and torch.equal(W_o, drawn_W_o(3, seed=5))
    n = W_o.numel()                                         # 5 standard errors of a variance over n normal draws
    assert abs(W_o.var().item() * 512 - 1) < 5 * math.sqrt(2 / n)
    with pytest.raises(ValueError, match="heads must be a whole number"):
        drawn_W_o(0)


def test_drawing_w_o_leaves_the_global_generator_alone():
    state = torch.random.get_rng_state()
    together("en_cat", seed=1)
    assert torch.equal(torch.random.get_rng_state(), state)


# who can change whom

@pytest.mark.parametrize("head_id", HEADS)
@pytest.mark.parametrize("mask_name", MASKS)
def test_the_jacobian_is_exactly_0_where_the_mask_forbids(head_id, mask_name):
    T = size("en_trophy")
    reach = jacobian_reach("en_trophy", head_id, build_mask(mask_name, T, padding=2, radius=1, prefix=2))
    assert reach.leak == 0 and reach.norms.shape == (T, T) and reach.norms.isfinite().all()


def test_without_a_mask_the_future_reaches_the_past_and_the_causal_mask_stops_it():
    T = size("en_tired")
    open_, causal = (jacobian_reach("en_tired", "coreference", mask, rows=[8]) for mask in (None, causal_mask(T)))
    assert open_.norms[0, 11] > .1 and open_.allowed.all(), "the adjective decides what it reads"
    assert not causal.norms[0, 9:].any() and causal.allowed[0].tolist() == [True] * 9 + [False] * 3


def test_padding_reaches_the_real_tokens_unless_a_mask_hides_it():
    T, last = size("en_she") + 2, size("en_she") - 1
    bare = jacobian_reach("en_she", "next", rows=(last,), padding=2)
    assert bare.norms.shape == (1, T) and bare.norms[0, T - 2] > 0
    masked = jacobian_reach("en_she", "next", build_mask("padding", T, padding=2), rows=(last,), padding=2)
    assert masked.norms[0, T - 2:].abs().max() == 0 and masked.leak == 0


def test_two_layers_see_twice_as_far():
    one, two = (jacobian_reach("en_tired", head, window_mask(12, 1)) for head in ("subject", "coreference"))
    assert torch.equal(one.allowed, window_mask(12, 1)) and torch.equal(two.allowed, window_mask(12, 2))
    assert two.norms.masked_fill(one.allowed, 0).max() > 0, "nothing came through the middle"


def test_the_reach_is_that_of_the_full_jacobian():
    for head_id in ("modifier", "coreference"):
        T, mask = size("es_he"), causal_mask(size("es_he"))
        head = HEADS[head_id]

        def output(x):
            if head.layer == 2:
                W_q, W_k, W_v = matrices(HEADS["predicate"])
                x = x + F.scaled_dot_product_attention(x @ W_q, x @ W_k, x @ W_v, mask)
            W_q, W_k, W_v = matrices(head)
            return F.scaled_dot_product_attention(x @ W_q, x @ W_k, x @ W_v, mask)

        J = torch.autograd.functional.jacobian(output, embed("es_he")[0])
        assert_close(jacobian_reach("es_he", head_id, mask).norms, J.square().sum((1, 3)).sqrt(), 1e-4, head_id)


def test_a_leak_is_seen():
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    norms, _ = reach_of(lambda x: x.cumsum(-2), x)
    assert_close(norms, torch.ones(5, 5).tril() * math.sqrt(3), 1e-6)
    norms, rows = reach_of(lambda x: x + x.mean(-2, keepdim=True), x, rows=[1, 3])
    assert rows == (1, 3) and (norms > 0).all(), "the mean leaks every token into every other"


def test_a_row_with_nothing_to_attend_to_depends_on_nothing():
    mask = causal_mask(4)
    mask[2] = False
    assert not jacobian_reach("en_cat", "subject", mask).norms[2].any()


def test_typed_text_has_one_row_of_reach():
    text = " ".join(f"w{i}" for i in range(64))
    reach = typed_reach(text, "previous", 40, causal_mask(64))
    assert reach.leak == 0 and reach.norms.shape == (1, 64) and reach.norms[0, 39] > 0
    assert not reach.norms[0, 41:].any()


# painting

def test_painted_cells_come_back_from_the_link():
    draw = random.Random(0)
    for T in (1, 2, 3, 7, 13, 64, 65, 72):
        for n in (0, 1, T, T * T):
            cells = {(draw.randrange(T), draw.randrange(T)) for _ in range(n)}
            token = format_cells(cells, T)
            assert parse_cells(token, T) == cells and len(token) <= 867 and (token == "") == (not cells)
            assert format_cells(parse_cells(token, T), T) == token


def test_painted_cells_of_another_sentence_keep_their_places_and_nonsense_paints_nothing():
    token = format_cells({(0, 1), (4, 4), (9, 2)}, 10)
    assert parse_cells(token, 5) == {(0, 1), (4, 4)} and parse_cells(token, 20) == {(0, 1), (4, 4), (9, 2)}
    for text in ("", "x", "5", "5.", ".AA", "0.AA", "99.AA", "5.A", "5.!!", "5.AA==", "٥.AA", "5." + "A" * 10**6, "5.\n"):
        assert parse_cells(text, 5) == frozenset(), text
    assert all(i < 3 and j < 3 for i, j in parse_cells("3." + "_" * 700, 3))


def test_hiding_cells_keeps_the_mask_below_and_its_own_copy():
    mask = causal_mask(3)
    keep = hide(3, {(2, 0), (0, 0)}, mask)
    assert keep.tolist() == [[False, False, False], [True, True, False], [False, True, True]] and mask[2, 0]
    assert hide(3, ()) is None and hide(3, (), mask) is mask
    head = head_trace("en_cat", "subject", hide(4, [(1, j) for j in range(4)]))
    assert "empty_rows" in head.notes and not head.trace.weights[1].any()


def test_a_hidden_start_is_noted():
    assert "start_hidden" in head_trace("en_cat", "subject", window_mask(4, 1)).notes
    assert head_trace("en_cat", "subject", causal_mask(4)).notes == ()


# padding, comparison, polarity

def test_padding_steals_weight_without_a_mask_and_nothing_with_one():
    taken = steal("en_cat", "next", 4)
    assert taken.tokens == (START, "The", "cat", "sat") and taken.masked == 0
    assert taken.share[3] > .9 and taken.mean == pytest.approx(taken.share.mean().item())
    head = head_trace("en_cat", "next", padding=4)
    assert head.tokens[4:] == (PAD,) * 4
    assert_close(head.trace.weights[:4, 4:].sum(-1), taken.share, 0)
    assert steal("en_tired", "coreference", 4, tau=5.0).mean > steal("en_tired", "coreference", 4).mean > 0


def test_a_difference_names_its_largest_cell_and_the_words_that_changed():
    found = difference(head_trace("en_tired", "coreference"), head_trace("en_wide", "coreference"))
    assert found.cell in {(8, 2), (8, 6)} and found.changed == (11,) and found.matrix.shape == (12, 12)
    assert found.largest == pytest.approx(.96, abs=.01)
    same = head_trace("en_tired", "next")
    assert difference(same, same).largest == 0


@pytest.mark.parametrize("mask", [None, causal_mask(5), window_mask(5, 1), hide(5, {(2, 1), (4, 0), (0, 3)})],
                         ids=["none", "causal", "window", "painted"])
def test_the_code_for_both_polarities_runs_and_agrees(mask):
    x = torch.randn(5, 8, generator=torch.Generator().manual_seed(0))
    mha = nn.MultiheadAttention(8, 1, bias=False, batch_first=True)
    with torch.no_grad():
        mha.in_proj_weight.copy_(torch.eye(8).repeat(3, 1))
        mha.out_proj.weight.copy_(torch.eye(8))
    code, names = polarity_example(mask), {"torch": torch, "F": F, "q": x, "k": x, "v": x, "x": x, "mha": mha}
    exec(code.keep, names)
    if mask is not None:
        assert torch.equal(names["keep"], mask)
    exec(code.sdpa, names)
    sdpa = names["output"]
    exec(code.mha, names)
    assert_close(names["output"], sdpa, 1e-5, "the two calls")
    if mask is not None:
        exec(code.mha.replace("~keep", "keep"), names)
        assert not largest_difference(names["output"], sdpa) < 1e-2, "an inverted mask went unnoticed"


def test_an_empty_row_is_nan_in_multihead_attention_and_that_is_said():
    mask = hide(3, {(1, 0), (1, 1), (1, 2)})
    code = polarity_example(mask)
    x, mha = torch.ones(3, 4), nn.MultiheadAttention(4, 1, batch_first=True)
    names = {"torch": torch, "F": F, "q": x, "k": x, "v": x, "x": x, "mha": mha}
    for line in (code.keep, code.mha):
        exec(line, names)
    assert code.empty_rows == (1,) and names["output"][1].isnan().all() and not names["output"][0].isnan().any()
    exec(code.sdpa, names)
    assert not names["output"][1].any()


def test_sentences_and_typed_text_need_no_torch():
    code = "import sys, qkv_core.sentences, qkv_core.typed; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
