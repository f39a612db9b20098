import type { Handling } from '../../core/fidelity.ts';

/** What the four words mean. */
export const handlings: Readonly<Record<Handling, string>> = {
  honoured: 'It does what it says.',
  approximated: 'It has its effect, with the difference that the note tells.',
  ignored:
    'It is accepted without effect. Replies name it in the header x-parley-ignored; the native API, whose clients send such fields always, does not.',
  refused: 'The request is answered with an error that says why.',
};
