import type { Attachment } from '../conversations/conversation.ts';

/** How a document is sent: its whole text, or the passages that fit the question best. */
export type SendMode = 'whole' | 'passages';

const charactersPerToken = 3.6;
/** Part of the context that whole documents of a message may fill. */
const wholePart = 0.4;
/** Part of the context for passages of documents, in each message. */
const passagesPart = 0.25;
/** In tokens; used while the server is unknown. */
const defaultContext = 4096;
const minBudget = 1200;
const maxBudget = 12_000;

/**
 * How each text document of a message is sent, by attachment id. The choice of the person counts; otherwise documents are sent
 * whole, the smallest first, while they fit.
 */
export function sendModes(attachments: readonly Attachment[], context: number): ReadonlyMap<string, SendMode> {
  const documents = attachments.filter(({ kind }) => kind === 'text');
  let room = (context || defaultContext) * wholePart * charactersPerToken;
  const modes = new Map<string, SendMode>();
  for (const { id, send, text = '' } of [...documents].sort(byChoiceAndSize)) {
    const mode = send ?? (text.length <= room ? 'whole' : 'passages');
    if (mode === 'whole') room -= text.length;
    modes.set(id, mode);
  }
  return modes;
}

function byChoiceAndSize(a: Attachment, b: Attachment): number {
  return Number(a.send === undefined) - Number(b.send === undefined) || (a.text?.length ?? 0) - (b.text?.length ?? 0);
}

/** A document that is so short that passages would be no shorter. */
export function isShort({ text = '' }: Pick<Attachment, 'text'>): boolean {
  return text.length <= minBudget;
}

/** Characters for the passages of a message. */
export function passageBudget(context: number): number {
  const characters = (context || defaultContext) * passagesPart * charactersPerToken;
  return Math.round(Math.min(maxBudget, Math.max(minBudget, characters)));
}
