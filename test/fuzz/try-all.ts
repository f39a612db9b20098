import fc from 'fast-check';
import { fuzz, replay } from './settings.ts';

/** Tries as many inputs as the settings say, or a share of them; a failure is made small and told with its seed. */
export async function tryAll<Input>(
  name: string,
  inputs: fc.Arbitrary<Input>,
  check: (input: Input) => unknown,
  share = 1,
): Promise<void> {
  const numRuns = Math.max(20, Math.ceil(fuzz.inputs * share));
  try {
    await fc.assert(
      fc.asyncProperty(inputs, async (input) => void (await check(input))),
      { seed: fuzz.seed, numRuns },
    );
    console.log(`Fuzz: seed ${fuzz.seed}, ${name}: ${numRuns} inputs.`);
  } catch (error) {
    console.log(`Fuzz: seed ${fuzz.seed}. Again with: ${replay(name)}`);
    throw error;
  }
}

/** For tests whose length depends on the number of inputs. */
export const timeout = 120_000 + fuzz.inputs * 200;
