/** Collects the events of a connection, in the order in which they come, and lets tests wait for one. */
export function eventLog<Event extends { readonly type: string }>() {
  const events: Event[] = [];
  const waiting = new Set<() => void>();
  return {
    events,
    add: (event: Event): void => {
      events.push(event);
      for (const look of [...waiting]) look();
    },
    /** The next event of this type, or the one with this number, which may have come already. */
    next: (type: string, count = 1) =>
      new Promise<Event>((resolve) => {
        const look = (): void => {
          const found = events.filter((event) => event.type === type)[count - 1];
          if (!found) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
      }),
  };
}
