import type { TranscriptionEvent, TranscriptionFacts, TranscriptionRequest } from '../../../core/transcription.ts';
import { serveTasks } from '../../host/task-worker.ts';
import type { RecogniserOptions } from '../host.ts';
import type { Recogniser } from '../recogniser.ts';
import { openMoonshine } from '../sherpa.ts';
import { openWhisper } from '../whisper-cpp/recogniser.ts';
import { openWhisperOnnx } from '../whisper-onnx/recogniser.ts';
import { transcribe } from './transcribe.ts';
import { VoiceActivity } from './voice-activity.ts';

/** Transcription worker process. */
serveTasks<RecogniserOptions, TranscriptionFacts, TranscriptionRequest, TranscriptionEvent>(
  async (options, { note }) => {
    const recogniser = await opened(options, note);
    const voice = await VoiceActivity.open();
    return {
      facts: recogniser.facts,
      run: ({ recording, ...task }, tools) => transcribe(recording, task, tools, { recogniser, voice }),
      close: () => recogniser.close?.(),
    };
  },
);

function opened(options: RecogniserOptions, note: (text: string) => void): Promise<Recogniser> {
  switch (options.type) {
    case 'moonshine':
      return openMoonshine(options.threads);
    case 'whisper-onnx':
      return openWhisperOnnx(options.folder, options);
    case 'whisper':
      return openWhisper(options, note);
  }
}
