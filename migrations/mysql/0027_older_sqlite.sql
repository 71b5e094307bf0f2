-- Only the view of an embedded database asked for what not every version knows.
DO 0;
