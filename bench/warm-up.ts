/** A request for this many tokens gets them as fast as they go out: it is there to have the server's code compiled. */
export const warmUpTokens = 60_000;
