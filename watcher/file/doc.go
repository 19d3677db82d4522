// Package file is the source that follows a directory of Kuma resource files.
//
// It reads *.yaml, *.yml and *.json, recursively and through symbolic links,
// and skips hidden files and what editors leave behind. It is told of changes
// by the operating system where that works, and in any case reads everything
// again at a slow poll and compares contents, which finds what events miss:
// a change within one second at one size, a file changed behind a link, a file
// system without events.
//
// The decisions are made in a state machine ([directory], unexported) that is
// told what was seen and when, and does no input or output. Around it, Run
// lists, reads, waits and hands over.
//
// # Absence is not deletion
//
// What a table loses because of this source, an operator has to have removed.
//
//   - A file that is broken, cut short, empty, too large or unreadable keeps
//     its last good content, all of it. Half a document may read as a whole
//     one, so nothing of such a file is taken.
//   - A file of zero bytes, or of blanks only, counts as cut short. A file
//     that is meant to hold nothing says so with a comment.
//   - A document that reads well but is not a valid resource is set aside. Its
//     last good version, found by file and identity, stays; the others of the
//     file count. Where the identity cannot be read, nothing that the file
//     declared before goes away until it can.
//   - A file that is gone goes for good after a grace, which is extended while
//     more files go or come, up to [MaxGrace]: a slow "rm -r" is one batch,
//     and the moment between an editor's remove and its create is none.
//   - A directory that is missing, unreadable, or holds no resource file any
//     more releases nothing. To release everything on purpose, leave one file
//     with only a comment in it. Files that come back into an emptied
//     directory start the grace of the others anew.
//   - A link that leads nowhere is unreadable, not gone. So are the files
//     below a subdirectory that cannot be listed.
//
// # Incomplete
//
// What was never read well in the life of this process may have been in the
// table before it. Until it is read, or removed, batches say that they are
// incomplete, and name it: a file or a document that was never good, a
// subdirectory that cannot be listed, a directory that was empty or missing
// when the process started and has not been filled for a grace. When nothing
// is missing any more a full batch follows, without an incomplete mark.
//
// # Caveats
//
// A change of the file behind a link that points out of the directory is seen
// at the poll, unless the link itself is swapped. Each real directory is read
// once, under the first path that leads to it, so loops of links end. A file
// is read in one go but not locked: a writer should write another file and
// rename it. A resource file that is not regular, such as a named pipe, is a
// problem and is not opened.
package file
