import { translatable } from '../../languages/index.ts';

/** Errors of attached files. */
export const texts = translatable('attachments', {
  refused: (name: string, reason: string) => `Can't attach ${name}: ${reason}`,
  noVision: 'this model cannot see images. Switch to a vision model.',
  noAudio: 'this model cannot hear audio, and the server has no speech recognition.',
  noText: 'it contains no text.',
  onlyScans: 'it contains no text, probably only scanned pages.',
  damaged: 'it is damaged.',
  encrypted: 'it needs a password. Save it without one.',
  binary: 'it is not a text file.',
  tooLarge: (megabytes: number) => `it is too large. The limit is ${megabytes} MB.`,
  transcript: (name: string) => `${name} (transcript)`,
  recording: 'recording',
});
