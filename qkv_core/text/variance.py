"""The words of the variance page."""

from qkv_core.text import Msg

QUESTION = Msg(en="variance", es="variance.")
SOURCE = Msg(en="Vaswani et al. (2017), “Attention Is All You Need”, section 3.2.1", es="Vaswani et al. (2017), «Attention Is All You Need», sección 3.2.1")
