import { AppError } from '../core/errors.ts';
import type { ChatRequest } from './request.ts';

export function refuseUnknownTool({ toolChoice, conversation }: ChatRequest): void {
  if (toolChoice.type === 'named' && !conversation.tools.some(({ name }) => name === toolChoice.name)) {
    throw new AppError('invalid-field', {
      field: 'tool_choice',
      expected: `one of the tools of the request, and ${toolChoice.name} is not`,
    });
  }
  if (toolChoice.type === 'required' && conversation.tools.length === 0) {
    throw new AppError('invalid-field', { field: 'tools', expected: 'given when a call is required' });
  }
}
