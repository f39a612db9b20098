/** Moves `main` away from `negative`, in place; a scale of 1 changes nothing. */
export function mixGuidance(main: Float32Array, negative: Float32Array, scale: number): void {
  for (let id = 0; id < main.length; id += 1) {
    const away = negative[id] as number;
    const mixed = scale * ((main[id] as number) - away) + away;
    // Where infinities cancel out there is no mixture; the main logit stands.
    if (!Number.isNaN(mixed)) main[id] = mixed;
  }
}
