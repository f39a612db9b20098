import type { Voice } from '../../../core/speech.ts';

/** Built-in voices, the best first. A sixth one, `awb_time`, can only say the time of day. */
export const fliteVoices: readonly Voice[] = [
  { name: 'slt', language: 'en', sound: 'female', description: 'American woman' },
  { name: 'rms', language: 'en', sound: 'male', description: 'American man' },
  { name: 'awb', language: 'en', sound: 'male', description: 'Scottish man' },
  { name: 'kal16', language: 'en', sound: 'male', description: 'American man, older technique' },
  { name: 'kal', language: 'en', sound: 'male', description: 'American man, older technique, like a telephone' },
];
