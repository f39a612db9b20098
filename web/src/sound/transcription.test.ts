import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';

async function transcribed(view: 'sound' | 'chat') {
  let finish: (answer: object) => void = () => {};
  fakePage({
    'v1/audio/transcriptions': () =>
      new Promise((resolve) => {
        finish = resolve;
      }),
  });
  const { navigation } = await import('../ui/navigation.svelte.ts');
  const { notices } = await import('../ui/notices.svelte.ts');
  const { transcribe, transcription } = await import('./transcription.svelte.ts');
  const { history } = await import('./history.svelte.ts');
  navigation.route = { view: 'sound' };
  const running = transcribe(new Blob(['sound']), { name: 'talk.wav', language: '' });
  expect(transcription.running).toBe(true);
  navigation.route = { view };
  finish({ text: ' Hello. ', duration: 2 });
  await running;
  expect(transcription.running).toBe(false);
  return { route: navigation.route, notices: notices.list, saved: history.all };
}

test('transcribe: opens the transcript on the Sound page', async () => {
  const { route, notices, saved } = await transcribed('sound');
  expect(saved).toMatchObject([{ text: 'Hello.', name: 'talk.wav' }]);
  expect(route).toEqual({ view: 'sound', id: saved[0]?.id });
  expect(notices).toEqual([]);
});

test('transcribe: leaves the person on another page, where a notice offers the transcript', async () => {
  const { route, notices, saved } = await transcribed('chat');
  expect(saved).toHaveLength(1);
  expect(route).toEqual({ view: 'chat' });
  expect(notices).toMatchObject([{ text: 'The transcript of talk.wav is ready.', action: { label: 'Open' } }]);
});
