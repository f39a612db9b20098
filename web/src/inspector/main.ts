import { start } from '../app/start.ts';
import InspectorPage from './InspectorPage.svelte';

start(InspectorPage);
