/**
 * A library whose methods call those of the one that `load` resolves to: nothing is loaded before the first call. `own` has the
 * methods that answer without it.
 */
export function lazily<Library extends object>(
  load: (method: keyof Library) => Promise<Partial<Library>>,
  own: Partial<Library> = {},
): Library {
  return new Proxy(own as Library, {
    get: (known, name) => {
      const method = name as keyof Library;
      // With a method `then` it would be taken for a promise.
      if (name in known || name === 'then') return known[method];
      return async (...args: unknown[]) => {
        const library = await load(method);
        return (library[method] as (...args: unknown[]) => unknown).apply(library, args);
      };
    },
  });
}
