import type { Voice } from '../../../core/speech.ts';

/** Those that are built in, the best first. A sixth, `awb_time`, can tell the time of day and nothing else. */
export const fliteVoices: readonly Voice[] = [
  { name: 'slt', language: 'en', sound: 'female', description: 'American woman' },
  { name: 'rms', language: 'en', sound: 'male', description: 'American man' },
  { name: 'awb', language: 'en', sound: 'male', description: 'Scottish man' },
  { name: 'kal16', language: 'en', sound: 'male', description: 'American man, older technique' },
  { name: 'kal', language: 'en', sound: 'male', description: 'American man, older technique, like a telephone' },
];
