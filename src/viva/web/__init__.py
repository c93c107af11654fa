"""What every page of Viva's shares: who may ask a server, how text becomes HTML, tables, charts and colours."""
