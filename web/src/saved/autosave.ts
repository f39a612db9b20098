export interface Autosave<Kept extends { readonly id: string }> {
  /** Saves after a short delay, once for all changes until then. */
  changed(kept: Kept): void;
  flush(): Promise<void>;
}

export interface AutosaveParts<Kept> {
  readonly put: (kept: Kept) => Promise<void>;
  readonly onFailure: (reason: unknown) => void;
  readonly delay?: number;
  readonly later?: (run: () => void, milliseconds: number) => () => void;
}

/** Saves records shortly after they change, so that rapid changes cost one write. Failed writes are retried. */
export function autosave<Kept extends { readonly id: string }>(parts: AutosaveParts<Kept>): Autosave<Kept> {
  const { put, onFailure, delay = 400, later = afterTimeout } = parts;
  const waiting = new Map<string, Kept>();
  let cancel: (() => void) | undefined;

  async function flush(): Promise<void> {
    cancel?.();
    cancel = undefined;
    const now = [...waiting.values()];
    waiting.clear();
    for (const kept of now) {
      try {
        await put(kept);
      } catch (reason) {
        if (!waiting.has(kept.id)) waiting.set(kept.id, kept);
        onFailure(reason);
      }
    }
  }

  return {
    changed: (kept) => {
      waiting.set(kept.id, kept);
      cancel ??= later(() => void flush(), delay);
    },
    flush,
  };
}

function afterTimeout(run: () => void, milliseconds: number): () => void {
  const timer = setTimeout(run, milliseconds);
  return () => clearTimeout(timer);
}
