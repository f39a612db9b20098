import type { TranscriptionEvent, TranscriptionFacts } from '../../../core/transcription.ts';
import { serveTasks } from '../../host/task-worker.ts';
import type { RecogniserOptions, TranscriptionTask } from '../host.ts';
import { openMoonshine, openWhisper } from '../recogniser.ts';
import { transcribe } from './transcribe.ts';
import { VoiceActivity } from './voice-activity.ts';

/** Transcription worker process. */
serveTasks<RecogniserOptions, TranscriptionFacts, TranscriptionTask, TranscriptionEvent>(async (options, { note }) => {
  const recogniser =
    options.type === 'moonshine' ? await openMoonshine(options.threads) : await openWhisper(options, note);
  const voice = await VoiceActivity.open();
  return {
    facts: recogniser.facts,
    run: (task, [recording = new Uint8Array(0)], tools) => transcribe(recording, task, tools, { recogniser, voice }),
    close: () => recogniser.close?.(),
  };
});
