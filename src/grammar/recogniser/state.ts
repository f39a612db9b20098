/** A rule that is being read, and where it goes on for whoever called it. Never changes once its step is over. */
export interface Call {
  readonly id: number;
  readonly rule: number;
  readonly returns: readonly Place[];
}

/** A step of the grammar inside of a call. */
export interface Place {
  readonly step: number;
  readonly call: Call;
}

/** All that may come next after some text: the places that wait for a character or a token. */
export class State {
  /** Where each class of characters leads; null where it may not follow. Filled as it is asked for. */
  readonly after: (State | null | undefined)[] = [];
  /** Which places a class may concern, where there are too many to look at all of them each time. */
  index: { readonly narrow: ReadonlyMap<number, readonly Place[]>; readonly wide: readonly Place[] } | undefined;

  constructor(
    readonly places: readonly Place[],
    /** Whether the text may end here. */
    readonly complete: boolean,
    /** Whether some of the places wait for a whole token. */
    readonly hasTokens: boolean,
  ) {}
}
