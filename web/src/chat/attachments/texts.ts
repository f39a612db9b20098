/** Errors of attached files. */
export const texts = {
  refused: (name: string, reason: string) => `Can't attach ${name}: ${reason}`,
  noVision: 'this model does not accept images. Load a model with a projector (--mmproj).',
  noAudio: 'neither audio input nor speech recognition is available.',
  noText: 'it contains no text.',
  onlyScans: 'it contains no text, probably only scanned pages.',
  binary: 'it is not a text file.',
  tooLarge: (megabytes: number) => `it is too large. The limit is ${megabytes} MB.`,
  transcript: (name: string) => `${name} (transcript)`,
  recording: 'recording',
} as const;
