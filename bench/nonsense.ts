/** Words that begin differently for each number, so that no prompt finds the one before it in the cache. */
export function nonsense(number: number, words: number): string {
  const letters = 'etaoinshrdlucmfwygpbvk';
  let state = (number + 1) * 2654435761;
  const letter = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return letters[(state >>> 8) % letters.length];
  };
  return Array.from({ length: words }, () => `${letter()}${letter()}${letter()}`).join(' ');
}
