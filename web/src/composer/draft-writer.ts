interface DraftWriter {
  /** Saves after a pause in typing: writing a long text takes time with each key. */
  changed(text: string): void;
  /** Saves at once what is not saved yet. */
  flush(): void;
}

interface DraftWriterOptions {
  readonly write: (text: string) => void;
  readonly delay?: number;
  readonly later?: (run: () => void, milliseconds: number) => () => void;
}

/** Saves the text of a field after a pause. Empty text is saved at once, so that a sent message does not come back. */
export function draftWriter({ write, delay = 300, later = afterTimeout }: DraftWriterOptions): DraftWriter {
  let waiting: string | undefined;
  let cancel: (() => void) | undefined;

  function flush(): void {
    cancel?.();
    cancel = undefined;
    if (waiting === undefined) return;
    const text = waiting;
    waiting = undefined;
    write(text);
  }

  return {
    changed: (text) => {
      waiting = text;
      if (text === '') flush();
      else cancel ??= later(flush, delay);
    },
    flush,
  };
}

function afterTimeout(run: () => void, milliseconds: number): () => void {
  const timer = setTimeout(run, milliseconds);
  return () => clearTimeout(timer);
}
