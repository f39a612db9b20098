import { recommendedEntries } from '../../../src/library/recommended.ts';
import { translatable } from '../languages/index.ts';
import { reasonKey } from './reason.ts';

const english = Object.fromEntries(recommendedEntries.map((entry) => [reasonKey(entry), entry.why]));

/** Why models are recommended. The server sends the English ones, so that no page loads this file. */
export const texts = translatable('reasons', english);
