"""Stands in for CANN's acl where that isn't installed; see opscope.acl."""

from opscope.acl import *  # noqa: F401,F403
from opscope.acl import prof, rt  # noqa: F401
