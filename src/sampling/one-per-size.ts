/** Makes one for each size, when it is first needed: shared by all samplers of a thread, where it holds nothing between two calls. */
export function onePerSize<Made>(make: (size: number) => Made): (size: number) => Made {
  const made = new Map<number, Made>();
  return (size) => {
    let found = made.get(size);
    if (found === undefined) {
      found = make(size);
      made.set(size, found);
    }
    return found;
  };
}
