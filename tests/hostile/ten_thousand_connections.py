"""10,000 connections are kept open and silent. All other clients are served as usual."""
from siege import Siege, for_ever


def hold_connections(siege):
    held = []
    for _ in range(2500):
        held.append(siege.connect())
    siege.ready()
    for_ever()


with Siege() as siege:
    siege.attack(hold_connections, count=4)
    siege.guests(50)
