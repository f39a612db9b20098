/** Moves `main` away from `negative`, in place; a scale of 1 changes nothing. */
export function mixGuidance(main: Float32Array, negative: Float32Array, scale: number): void {
  for (let id = 0; id < main.length; id += 1) {
    const away = negative[id] as number;
    const distance = (main[id] as number) - away;
    // Impossible in both stays impossible: the distance of two infinities is not a number.
    if (!Number.isNaN(distance)) main[id] = scale * distance + away;
  }
}
