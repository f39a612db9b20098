import type { TranscriptionEvent, TranscriptionFacts } from '../../../core/transcription.ts';
import { serveTasks } from '../../host/task-worker.ts';
import type { TranscriptionOptions, TranscriptionTask } from '../host.ts';
import { openMoonshine } from '../recogniser.ts';
import { openWhisper } from '../whisper.ts';
import { transcribe } from './transcribe.ts';
import { VoiceActivity } from './voice-activity.ts';

/** Transcription worker process. */
serveTasks<TranscriptionOptions, TranscriptionFacts, TranscriptionTask, TranscriptionEvent>(
  async ({ recogniser: options }, { note }) => {
    const recogniser =
      options.type === 'moonshine' ? await openMoonshine(options.threads) : await openWhisper(options, note);
    const voice = await VoiceActivity.open();
    return {
      facts: recogniser.facts,
      run: (task, [recording = new Uint8Array(0)], tools) => transcribe(recording, task, tools, { recogniser, voice }),
      close: () => recogniser.close?.(),
    };
  },
);
