/** Creates one object per size, on first use. All samplers of a thread share it, so it must hold no state between two calls. */
export function onePerSize<Made>(make: (size: number) => Made): (size: number) => Made {
  const made = new Map<number, Made>();
  return (size) => {
    let existing = made.get(size);
    if (existing === undefined) {
      existing = make(size);
      made.set(size, existing);
    }
    return existing;
  };
}
