import { translatable } from '../languages/index.ts';

/** Sentences and labels of the composer. */
export const texts = translatable('composer', {
  field: {
    label: 'Message',
    send: 'Send',
    queue: 'Send after the reply',
    stop: 'Stop',
    tooLong: (limit: string) => `The field holds up to ${limit}. The text is now attached as a file.`,
  },
  attachments: {
    isCard: (name: string) => `${name} is a character card.`,
    addCharacter: 'Add character',
    open: 'Open',
    remove: (name: string) => `Remove ${name}`,
    reading: 'Reading …',
    choose: 'Files to attach',
    attach: 'Attach files',
    unsupported: (name: string) => `Can't attach ${name}: unsupported file type.`,
    empty: (name: string) => `Can't attach ${name}: the file is empty.`,
    tooLarge: (name: string, size: string, kind: string, limit: string) =>
      `Can't attach ${name}: ${size} is too large. The limit for ${kind} is ${limit}.`,
    kinds: { image: 'images', audio: 'audio', pdf: 'PDF files', text: 'text files' },
  },
  chat: {
    placeholder: (model: string) => (model === '' ? 'Message' : `Message ${model}`),
    dictate: 'Dictate',
    stopRecording: 'Stop recording',
    transcribing: 'Transcribing …',
    noSpeech: 'No speech found.',
    draw: 'Draw image',
    knowledge: 'Knowledge',
    prefill: 'Prefill the reply',
    prefillLabel: 'Start of the reply',
    prefillPlaceholder: 'The reply starts with …',
  },
  draw: {
    title: 'Draw an image',
    prompt: 'Prompt',
    placeholder: 'a house on a hill',
    draw: 'Draw',
  },
  pasted: {
    name: (size: string) => `Pasted text (${size})`,
  },
  text: {
    label: 'Text',
    part: (part: number, parts: number) => `Part ${part} of ${parts}`,
    previous: 'Previous part',
    next: 'Next part',
    insert: 'Insert as text',
    insertTooLong: (limit: string) => `Too long for the message field (up to ${limit}). Edit it here instead.`,
    save: 'Save changes',
    copy: 'Copy',
    size: (size: string, characters: string) => `${size}, ${characters} characters`,
  },
});
