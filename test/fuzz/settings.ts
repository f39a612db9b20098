/** How much is tried, and from which seed on. `npm run test:fuzz` sets all of them; `npm test` takes the short run. */
export const fuzz = {
  seed: Number(process.env.FUZZ_SEED ?? 20_261_117),
  /** Requests to the server. */
  requests: Number(process.env.FUZZ_REQUESTS ?? 600),
  /** Inputs of each parser. */
  inputs: Number(process.env.FUZZ_INPUTS ?? 150),
} as const;

/** The command that does the same again. */
export function replay(name: string): string {
  return `npm run test:fuzz -- --seed ${fuzz.seed} --requests ${fuzz.requests} --inputs ${fuzz.inputs} --only "${name}"`;
}
