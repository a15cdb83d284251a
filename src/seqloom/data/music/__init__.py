"""Music: MIDI files and piano rolls."""
