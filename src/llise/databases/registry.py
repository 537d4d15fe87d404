"""All databases by their names on the command line."""

from llise.databases.csiq import CSIQ
from llise.databases.kadid10k import KADID10K
from llise.databases.live import LIVE
from llise.databases.tid2013 import TID2013

DATABASES = {database.name: database for database in (TID2013, KADID10K, CSIQ, LIVE)}
"""The databases that ``llise benchmark`` knows."""
