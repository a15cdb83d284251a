"""Symbolic music: MIDI files and piano rolls."""
