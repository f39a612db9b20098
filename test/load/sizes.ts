/** Set by `npm run test:load`: the minutes that the day of work may take. Without it the tests are short. */
const minutes = Number(process.env.PARLEY_TEST_LOAD_MINUTES);

export const fullRun = minutes > 0;
export const dayMinutes = fullRun ? minutes : 5;

/** For the order and the endings of tasks. A failed run is repeated with the seed that it printed. */
export const seed = Number(process.env.PARLEY_TEST_LOAD_SEED) || Date.now() % 1_000_000;

/** Figures, in a full run only. */
export function report(title: string, lines: readonly string[]): void {
  if (fullRun) console.log([`\n== ${title}`, ...lines].join('\n'));
}
