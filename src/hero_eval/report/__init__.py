"""Reports that one can send: one document, as HTML in a single file, as Markdown, and as JSON."""
