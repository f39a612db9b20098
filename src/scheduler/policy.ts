/**
 * Who goes next, as pure functions: the queue around them owns the places. Clients take turns, and within one client the
 * oldest request goes first, so that somebody with twenty requests does not keep out somebody with one.
 */
export interface Waiting {
  readonly client: string;
  /** Cannot share the engine with others: it begins when nobody works, and nobody begins beside it. */
  readonly alone: boolean;
}

/** How many turns each client has had; one that is not listed has had none. */
export type Turns = ReadonlyMap<string, number>;

/** `waiting` is in the order of arrival. */
export function pickNext<Entry extends Waiting>(waiting: readonly Entry[], turns: Turns): Entry | undefined {
  const had = (entry: Entry) => turns.get(entry.client) ?? 0;
  return waiting.reduce<Entry | undefined>(
    (best, entry) => (best === undefined || had(entry) < had(best) ? entry : best),
    undefined,
  );
}

/** Whoever is next waits for its own conditions, and the others wait behind it: else a lone one might wait for ever. */
export function mayBegin(next: Waiting, running: readonly Waiting[], capacity: number): boolean {
  if (running.some(({ alone }) => alone)) return false;
  return next.alone ? running.length === 0 : running.length < capacity;
}

/**
 * The turns after `client` has begun. Somebody new starts level with those who have had least, neither behind them nor with
 * credit for the time before; clients that are no longer here are forgotten.
 */
export function takeTurn(
  turns: Turns,
  client: string,
  weight: number,
  present: ReadonlySet<string>,
): Map<string, number> {
  const kept = new Map([...turns].filter(([name]) => present.has(name)));
  kept.set(client, startingLevel(kept, client) + 1 / weight);
  return kept;
}

/** Where a client stands when it first shows up. */
export function startingLevel(turns: Turns, client: string): number {
  return turns.get(client) ?? (turns.size > 0 ? Math.min(...turns.values()) : 0);
}

/** The order in which those who wait now would be served if nobody else came. */
export function servingOrder<Entry extends Waiting>(waiting: readonly Entry[], turns: Turns): Entry[] {
  const left = [...waiting];
  const order: Entry[] = [];
  let counted = turns;
  for (let next = pickNext(left, counted); next; next = pickNext(left, counted)) {
    left.splice(left.indexOf(next), 1);
    order.push(next);
    counted = new Map(counted).set(next.client, (counted.get(next.client) ?? 0) + 1);
  }
  return order;
}
