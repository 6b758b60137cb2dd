/* SPDX-License-Identifier: Apache-2.0
 *
 * In the place of Snabb's header of this name, for C of its programs (core.compile).
 */
#error packets and links are not laid out as Snabb's are: pass p.data and p.length to C
