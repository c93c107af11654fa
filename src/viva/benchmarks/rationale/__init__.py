"""An exam whose answers must be defended: any benchmark's questions, asked for a rationale and an answer."""
